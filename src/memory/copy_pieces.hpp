// The kernel that moves a list of pieces (memory/device_pieces.hpp), in the driver's own language: no compiler is
// needed. A column of blocks of threads takes every so many-th piece. Of one row each block takes stretches of four
// units for each of its threads, so that these read them all before they write any; else a thread takes every so
// many-th unit.
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
  .reg .b32 %r<25>;
  .reg .b64 %d<12>;

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
  mov.u32 %r5, %ctaid.y;
  mov.u32 %r7, %ntid.x;
  mov.u32 %r6, %tid.x;
  mul.lo.u32 %r5, %r5, %r7;
  mov.u32 %r8, %nctaid.y;
  mul.lo.u32 %r8, %r8, %r7;        // threads of a piece
  setp.ne.u32 %p0, %r2, %r3;
  @%p0 bra ROWS;
  setp.eq.u32 %p0, %r4, 1;
  @%p0 bra ROWS;
  mul.lo.u32 %r5, %r5, 4;          // one row: a block takes four units of each of its threads together
  add.u32 %r5, %r5, %r6;
  mul.wide.u32 %d5, %r5, %r4;
  add.u64 %d7, %d3, %d5;
  add.u64 %d6, %d2, %d5;
  mul.wide.u32 %d5, %r7, %r4;      // bytes from one unit of a thread to the next
  sub.u32 %r6, %r8, %r7;
  mul.lo.u32 %r6, %r6, 4;
  mul.wide.u32 %d4, %r6, %r4;      // and over what the other blocks take
  mul.lo.u32 %r6, %r7, 3;
  mul.lo.u32 %r8, %r8, 4;
  setp.eq.u32 %p0, %r4, 16;
  @%p0 bra SIXTEENS;
  setp.eq.u32 %p0, %r4, 8;
  @%p0 bra EIGHTS;
  bra FOURS;
ROWS:
  add.u32 %r5, %r5, %r6;
  bra NEXT_UNIT;
SIXTEENS:
  add.u32 %r7, %r5, %r6;
  setp.ge.u32 %p0, %r7, %r3;
  @%p0 bra FEW_UNITS;
  ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.v4.u32 {%r13, %r14, %r15, %r16}, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.v4.u32 {%r17, %r18, %r19, %r20}, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.v4.u32 {%r21, %r22, %r23, %r24}, [%d7];
  add.u64 %d7, %d7, %d5;
  st.global.v4.u32 [%d6], {%r9, %r10, %r11, %r12};
  add.u64 %d6, %d6, %d5;
  st.global.v4.u32 [%d6], {%r13, %r14, %r15, %r16};
  add.u64 %d6, %d6, %d5;
  st.global.v4.u32 [%d6], {%r17, %r18, %r19, %r20};
  add.u64 %d6, %d6, %d5;
  st.global.v4.u32 [%d6], {%r21, %r22, %r23, %r24};
  add.u64 %d6, %d6, %d5;
  add.u64 %d6, %d6, %d4;
  add.u64 %d7, %d7, %d4;
  add.u32 %r5, %r5, %r8;
  bra SIXTEENS;
EIGHTS:
  add.u32 %r7, %r5, %r6;
  setp.ge.u32 %p0, %r7, %r3;
  @%p0 bra FEW_UNITS;
  ld.global.u64 %d8, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.u64 %d9, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.u64 %d10, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.u64 %d11, [%d7];
  add.u64 %d7, %d7, %d5;
  st.global.u64 [%d6], %d8;
  add.u64 %d6, %d6, %d5;
  st.global.u64 [%d6], %d9;
  add.u64 %d6, %d6, %d5;
  st.global.u64 [%d6], %d10;
  add.u64 %d6, %d6, %d5;
  st.global.u64 [%d6], %d11;
  add.u64 %d6, %d6, %d5;
  add.u64 %d6, %d6, %d4;
  add.u64 %d7, %d7, %d4;
  add.u32 %r5, %r5, %r8;
  bra EIGHTS;
FOURS:
  add.u32 %r7, %r5, %r6;
  setp.ge.u32 %p0, %r7, %r3;
  @%p0 bra FEW_UNITS;
  ld.global.u32 %r9, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.u32 %r10, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.u32 %r11, [%d7];
  add.u64 %d7, %d7, %d5;
  ld.global.u32 %r12, [%d7];
  add.u64 %d7, %d7, %d5;
  st.global.u32 [%d6], %r9;
  add.u64 %d6, %d6, %d5;
  st.global.u32 [%d6], %r10;
  add.u64 %d6, %d6, %d5;
  st.global.u32 [%d6], %r11;
  add.u64 %d6, %d6, %d5;
  st.global.u32 [%d6], %r12;
  add.u64 %d6, %d6, %d5;
  add.u64 %d6, %d6, %d4;
  add.u64 %d7, %d7, %d4;
  add.u32 %r5, %r5, %r8;
  bra FOURS;
FEW_UNITS:                         // the last ones of a row, less than four of a thread
  mov.u32 %r8, %ntid.x;
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
  add.u32 %r5, %r5, %r8;
  setp.eq.u32 %p0, %r4, 16;
  @%p0 bra SIXTEEN;
  setp.eq.u32 %p0, %r4, 8;
  @%p0 bra EIGHT;
  setp.eq.u32 %p0, %r4, 4;
  @%p0 bra FOUR;
  ld.global.u8 %r9, [%d7];
  st.global.u8 [%d6], %r9;
  bra NEXT_UNIT;
FOUR:
  ld.global.u32 %r9, [%d7];
  st.global.u32 [%d6], %r9;
  bra NEXT_UNIT;
EIGHT:
  ld.global.u64 %d8, [%d7];
  st.global.u64 [%d6], %d8;
  bra NEXT_UNIT;
SIXTEEN:
  ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%d7];
  st.global.v4.u32 [%d6], {%r9, %r10, %r11, %r12};
  bra NEXT_UNIT;
PIECE_DONE:
  mov.u32 %r7, %nctaid.x;
  add.u32 %r1, %r1, %r7;
  bra NEXT_PIECE;
DONE:
  ret;
}
)";

}  // namespace quadrille::memory
