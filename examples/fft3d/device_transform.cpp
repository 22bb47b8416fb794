// The transform by cuFFT on the device. All stages have the layout [z][y][x], each with its own parts: cuFFT works on
// lines with any stride, so nothing is transposed. Row copies pack and unpack the blocks. A block holds its numbers
// contiguously, in the same order, with the padding at its end.
#include <algorithm>
#include <vector>

#include "common/all_to_all.hpp"
#include "transform.hpp"

namespace fft3d {
namespace {

using examples::Device;
using examples::Direction;
using examples::Engines;
using examples::Lines;
using examples::LineTransform;
using examples::Memory;
using examples::Rows;

// The part of an array that a block holds, in numbers: rows that begin `pitch` after each other.
struct Piece {
  std::size_t begin, pitch, width, rows;
};

// One exchange among the ranks of `group`, in place: each rank's pieces before it, and after it.
class DeviceExchange {
 public:
  DeviceExchange(MPI_Comm group, const Engines& engines, std::size_t block, std::vector<Piece> before,
                 std::vector<Piece> after)
      : block_(block),
        before_(std::move(before)),
        after_(std::move(after)),
        device_(engines.device.get()),
        exchange_(group, engines.device.get(), engines.staged) {
    // With one rank, the data stay in place.
    if (before_.size() == 1) return;
    const std::size_t bytes = block_ * before_.size() * sizeof(Complex);
    out_ = Memory(bytes, device_);
    in_ = Memory(bytes, device_);
    exchange_.reserve(bytes);
  }

  void forward(char* data) { run(data, before_, after_); }
  void backward(char* data) { run(data, after_, before_); }
  std::size_t block_bytes() const { return before_.size() > 1 ? block_ * sizeof(Complex) : 0; }
  double take_seconds() { return exchange_.take_seconds(); }

 private:
  void run(char* data, const std::vector<Piece>& from, const std::vector<Piece>& to) {
    if (before_.size() == 1) return;
    for (std::size_t peer = 0; peer < from.size(); ++peer)
      move(in_block(out_, peer, from[peer]), in_array(data, from[peer]), from[peer]);
    device_->wait();
    exchange_.alltoall(out_.data(), static_cast<int>(block_), in_.data());
    for (std::size_t peer = 0; peer < to.size(); ++peer)
      move(in_array(data, to[peer]), in_block(in_, peer, to[peer]), to[peer]);
  }

  Rows in_block(const Memory& blocks, std::size_t peer, const Piece& piece) const {
    return {device_, blocks.data() + peer * block_ * sizeof(Complex), piece.width * sizeof(Complex)};
  }
  Rows in_array(char* data, const Piece& piece) const {
    return {device_, data + piece.begin * sizeof(Complex), piece.pitch * sizeof(Complex)};
  }
  static void move(const Rows& to, const Rows& from, const Piece& piece) {
    examples::copy_rows(to, from, piece.width * sizeof(Complex), piece.rows);
  }

  std::size_t block_;
  std::vector<Piece> before_, after_;  // by peers
  Device* device_;
  Memory out_, in_;
  examples::AllToAll exchange_;
};

class DeviceTransform : public Transform {
 public:
  DeviceTransform(const Extents& extents, const Grid& grid, const Engines& engines);

  void load(const Complex* data, std::size_t count) override {
    if (count > 0) device_->copy(data_.data(), data, count * sizeof(Complex), Direction::to_device);
    device_->wait();
  }
  void store(Complex* data, std::size_t count) override {
    if (count > 0) device_->copy(data, data_.data(), count * sizeof(Complex), Direction::to_host);
    device_->wait();
  }
  void forward() override;
  void backward() override;
  Layout spectrum_layout(int rank) const override {
    return fft3d::spectrum_layout(extents_, rows_, columns_, rank, {2, 1, 0});
  }
  std::array<std::size_t, 2> block_bytes() const override { return {x_to_y_->block_bytes(), y_to_z_->block_bytes()}; }
  double take_alltoall_seconds() override { return x_to_y_->take_seconds() + y_to_z_->take_seconds(); }

 private:
  // Lines of one stage: all at once, or in `planes` with a distance of `plane` numbers.
  struct Stage {
    std::unique_ptr<LineTransform> lines;  // null: this rank has none
    int planes = 1;
    std::size_t plane = 0;
  };
  static Stage plan(const Engines& engines, const Lines& lines, int planes);
  void transform(const Stage& stage, bool forward);

  Extents extents_;
  int rows_, columns_;
  Device* device_;
  Memory data_;
  std::unique_ptr<DeviceExchange> x_to_y_, y_to_z_;
  std::array<Stage, 3> stages_;
};

DeviceTransform::DeviceTransform(const Extents& extents, const Grid& grid, const Engines& engines)
    : extents_(extents), rows_(grid.rows), columns_(grid.columns), device_(engines.device.get()) {
  const auto [nx, ny, nz] = extents;
  const Layout before = input_layout(extents, rows_, columns_, grid.rank);
  const Layout after = spectrum_layout(grid.rank);
  const auto numbers = [](int count) { return static_cast<std::size_t>(count); };
  // This rank's counts: y before the first exchange and after the second one.
  const std::size_t z = numbers(before.parts[2].count), y_before = numbers(before.parts[1].count);
  const std::size_t x = numbers(after.parts[0].count), y_after = numbers(after.parts[1].count);
  const std::size_t between = z * numbers(ny) * x;
  data_ = Memory(std::max({before.count(), between, after.count()}) * sizeof(Complex), device_);

  std::vector<Piece> from, to;
  for (int peer = 0; peer < rows_; ++peer) {
    const Part its_x = part_of(nx, rows_, peer), its_y = part_of(ny, rows_, peer);
    from.push_back({numbers(its_x.begin), numbers(nx), numbers(its_x.count), z * y_before});
    to.push_back({its_y.begin * x, ny * x, its_y.count * x, z});
  }
  const std::size_t block_x_y = z * numbers(part_length(nx, rows_)) * numbers(part_length(ny, rows_));
  x_to_y_ = std::make_unique<DeviceExchange>(grid.column, engines, block_x_y, from, to);

  from.clear();
  to.clear();
  for (int peer = 0; peer < columns_; ++peer) {
    const Part its_y = part_of(ny, columns_, peer), its_z = part_of(nz, columns_, peer);
    from.push_back({its_y.begin * x, ny * x, its_y.count * x, z});
    to.push_back({its_z.begin * y_after * x, y_after * x, y_after * x, numbers(its_z.count)});
  }
  const std::size_t block_y_z = x * numbers(part_length(ny, columns_)) * numbers(part_length(nz, columns_));
  y_to_z_ = std::make_unique<DeviceExchange>(grid.row, engines, block_y_z, from, to);

  const auto whole = [](std::size_t count) { return static_cast<int>(count); };
  stages_[0] = plan(engines, {nx, whole(z * y_before), 1, nx}, 1);
  stages_[1] = plan(engines, {ny, whole(x), whole(x), 1}, whole(z));
  stages_[2] = plan(engines, {nz, whole(y_after * x), whole(y_after * x), 1}, 1);
}

DeviceTransform::Stage DeviceTransform::plan(const Engines& engines, const Lines& lines, int planes) {
  Stage stage;
  stage.planes = planes;
  stage.plane = static_cast<std::size_t>(lines.length) * static_cast<std::size_t>(lines.count);
  if (lines.count > 0 && planes > 0) stage.lines = engines.cufft->plan(lines);
  return stage;
}

void DeviceTransform::transform(const Stage& stage, bool forward) {
  if (!stage.lines) return;
  for (int plane = 0; plane < stage.planes; ++plane) {
    Complex* const at = reinterpret_cast<Complex*>(data_.data()) + static_cast<std::size_t>(plane) * stage.plane;
    forward ? stage.lines->forward(at) : stage.lines->backward(at);
  }
}

// All steps run in the NULL stream, in this order; the exchanges wait for the data that they send.
void DeviceTransform::forward() {
  transform(stages_[0], true);
  x_to_y_->forward(data_.data());
  transform(stages_[1], true);
  y_to_z_->forward(data_.data());
  transform(stages_[2], true);
  device_->wait();
}

void DeviceTransform::backward() {
  transform(stages_[2], false);
  y_to_z_->backward(data_.data());
  transform(stages_[1], false);
  x_to_y_->backward(data_.data());
  transform(stages_[0], false);
  device_->wait();
}

}  // namespace

std::unique_ptr<Transform> transform_on_device(const Extents& extents, const Grid& grid, const Engines& engines) {
  return std::make_unique<DeviceTransform>(extents, grid, engines);
}

}  // namespace fft3d
