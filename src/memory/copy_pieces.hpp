// The kernel that moves a list of pieces (memory/device_pieces.hpp), in the driver's own language: no compiler is needed.
// A block of threads takes every so many-th piece, a thread every so many-th of its units.
#pragma once

namespace quadrille::memory {

inline constexpr const char* copy_pieces_name = "quadrille_copy_pieces";
inline constexpr const char* copy_pieces_text = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry quadrille_copy_pieces(
  .param .u64 list,
  .param .u32 pieces
)
{
  .reg .pred %p<2>;
  .reg .b32 %r<13>;
  .reg .b64 %d<8>;

  ld.param.u64 %d0, [list];
  ld.param.u32 %r0, [pieces];
  mov.u32 %r1, %ctaid.x;
NEXT_PIECE:
  setp.ge.u32 %p0, %r1, %r0;
  @%p0 bra DONE;
  mul.wide.u32 %d1, %r1, 40;
  add.u64 %d1, %d0, %d1;
  ld.global.u64 %d2, [%d1];        // to
  ld.global.u64 %d3, [%d1+8];      // from
  ld.global.u64 %d4, [%d1+16];     // from one row to the next
  ld.global.u32 %r2, [%d1+24];     // units of a row
  ld.global.u32 %r3, [%d1+28];     // units of all rows
  ld.global.u32 %r4, [%d1+32];     // bytes of a unit
  mov.u32 %r5, %tid.x;
NEXT_UNIT:
  setp.ge.u32 %p0, %r5, %r3;
  @%p0 bra PIECE_DONE;
  div.u32 %r6, %r5, %r2;           // the row
  mul.lo.u32 %r7, %r6, %r2;
  sub.u32 %r7, %r5, %r7;           // the unit in it
  cvt.u64.u32 %d5, %r6;
  mul.lo.u64 %d5, %d5, %d4;
  mul.wide.u32 %d6, %r7, %r4;
  add.u64 %d5, %d5, %d6;
  add.u64 %d6, %d2, %d5;
  add.u64 %d7, %d3, %d5;
  mov.u32 %r8, %ntid.x;
  add.u32 %r5, %r5, %r8;
  setp.eq.u32 %p0, %r4, 16;
  @%p0 bra SIXTEEN;
  setp.eq.u32 %p1, %r4, 4;
  @%p1 bra FOUR;
  ld.global.u8 %r9, [%d7];
  st.global.u8 [%d6], %r9;
  bra NEXT_UNIT;
FOUR:
  ld.global.u32 %r9, [%d7];
  st.global.u32 [%d6], %r9;
  bra NEXT_UNIT;
SIXTEEN:
  ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%d7];
  st.global.v4.u32 [%d6], {%r9, %r10, %r11, %r12};
  bra NEXT_UNIT;
PIECE_DONE:
  mov.u32 %r8, %nctaid.x;
  add.u32 %r1, %r1, %r8;
  bra NEXT_PIECE;
DONE:
  ret;
}
)";

}  // namespace quadrille::memory
