// Pictures of schedules: what their shapes say is what the schedules say.
#include "lab/draw/svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include "../temp_folder.hpp"
#include "choose/registry.hpp"
#include "lab/draw/show_svg.hpp"
#include "plan/order.hpp"
#include "plan/problem.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Shape = std::map<std::string, std::string>;  // its attributes

// All shapes of a class. The pictures are well-formed as far as this needs: each tag has its attributes in "".
std::vector<Shape> shapes(const std::string& svg, const std::string& kind) {
  std::vector<Shape> found;
  const std::regex tag("<\\w+ ([^<>]*)>"), attribute("([\\w-]+)=\"([^\"]*)\"");
  for (std::sregex_iterator i(svg.begin(), svg.end(), tag), end; i != end; ++i) {
    const std::string inside = (*i)[1];
    Shape shape;
    for (std::sregex_iterator a(inside.begin(), inside.end(), attribute); a != end; ++a) shape[(*a)[1]] = (*a)[2];
    if (shape["class"] == kind) found.push_back(shape);
  }
  return found;
}

// Each tag that begins ends, in order.
bool is_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)(\\w+)[^<>]*?(/?)>");
  for (std::sregex_iterator i(svg.begin(), svg.end(), tag), end; i != end; ++i) {
    if ((*i)[3] == "/") continue;
    if ((*i)[1] != "/") {
      open.push_back((*i)[2]);
    } else if (open.empty() || open.back() != (*i)[2]) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

choose::Choice choice_of(Collective collective, const std::string& text) {
  choose::Choice choice;
  EXPECT_EQ(choose::parse_choice(collective, text, choice), "");
  return choice;
}

std::vector<plan::Schedule> schedules_of(Collective collective, const std::string& text, int ranks) {
  const choose::Choice choice = choice_of(collective, text);
  const plan::NodeMap nodes = plan::one_node(ranks);
  std::vector<plan::Schedule> all;
  for (int me = 0; me < ranks; ++me) all.push_back(choice.algorithm->build({ranks, me, &nodes, choice.parameters, {}}));
  return all;
}

TEST(SvgTest, AnArrowIsAMessage) {
  const auto all = schedules_of(Collective::alltoall, "zero-rotation-bruck:radix=2", 6);
  const std::string svg = plan::svg_of_messages(all, "a < b");
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  using Arrow = std::tuple<int, int, int, int>;  // from, to, round, blocks
  std::multiset<Arrow> drawn, sent;
  for (const Shape& shape : shapes(svg, "message")) {
    drawn.insert({std::stoi(shape.at("data-from")), std::stoi(shape.at("data-to")), std::stoi(shape.at("data-round")),
                  std::stoi(shape.at("data-blocks"))});
  }
  for (int me = 0; me < 6; ++me) {
    const plan::Schedule& schedule = all[static_cast<std::size_t>(me)];
    for (int r = 0; r < static_cast<int>(schedule.rounds.size()); ++r) {
      const plan::Range& sends = schedule.rounds[static_cast<std::size_t>(r)].sends;
      for (std::uint32_t i = 0; i < sends.count; ++i) {
        const plan::Message& message = schedule.messages[sends.first + i];
        if (!is_none(message)) sent.insert({me, message.peer, r, static_cast<int>(message.spans.count)});
      }
    }
  }
  EXPECT_FALSE(sent.empty());
  EXPECT_EQ(drawn, sent);
}

// The line through the cells of a rank is its part of the order.
TEST(SvgTest, ACellIsACopy) {
  const std::string svg = plan::svg_of_copies(schedules_of(Collective::alltoall, "sh-co", 6), "Morton");
  EXPECT_TRUE(is_well_formed(svg));
  const std::vector<Shape> cells = shapes(svg, "copy");
  ASSERT_EQ(cells.size(), 36u);
  EXPECT_EQ(shapes(svg, "order").size(), 6u);
  for (int me = 0; me < 6; ++me) {
    const std::vector<plan::Pair> part = plan::part_of_order(plan::Order::morton, 6, me);
    std::vector<plan::Pair> drawn(part.size());
    for (const Shape& cell : cells) {
      if (std::stoi(cell.at("data-rank")) != me) continue;
      drawn.at(std::stoul(cell.at("data-step"))) = {std::stoi(cell.at("data-source")),
                                                    std::stoi(cell.at("data-destination"))};
    }
    EXPECT_EQ(drawn, part) << me;
  }
}

std::vector<std::string> ways(const std::string& algorithm, const std::string& neighborhood) {
  std::vector<plan::Way> found;
  EXPECT_EQ(
      ways_of(Collective::neighbor_alltoall, choice_of(Collective::neighbor_alltoall, algorithm), neighborhood, found),
      "");
  std::vector<std::string> hops;
  for (const Shape& shape : shapes(plan::svg_of_ways(found, ""), "way")) hops.push_back(shape.at("data-hops"));
  return hops;
}

// By torus a block goes one unit a hop, by torus-direct one hop a dimension, straightforward in one.
TEST(SvgTest, AWayHasTheHopsOfTheAlgorithm) {
  EXPECT_THAT(ways("straightforward", "moore:1,2"), ElementsAre("0,0 -2,0", "0,0 -1,0", "0,0 1,0", "0,0 2,0"));
  EXPECT_THAT(ways("torus", "moore:1,2"), ElementsAre("0,0 -1,0 -2,0", "0,0 -1,0", "0,0 1,0", "0,0 1,0 2,0"));
  EXPECT_THAT(ways("torus-direct", "moore:1,2"), ElementsAre("0,0 -2,0", "0,0 -1,0", "0,0 1,0", "0,0 2,0"));
  const std::vector<std::string> all = ways("torus-direct", "moore:2,2");
  ASSERT_EQ(all.size(), 24u);
  const bool one_way = all.back() == "0,0 2,0 2,2" || all.back() == "0,0 0,2 2,2";
  EXPECT_TRUE(one_way) << all.back();
}

std::string draw_into(const std::string& name, const ShowOptions& options) {
  EXPECT_EQ(show_svg_command(options, name), 0);
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SvgTest, TheCommandDrawsWhatTheAlgorithmIs) {
  ShowOptions options;
  const test::TempFolder folder;
  std::string file = folder.file("show.svg");
  options.ranks = 4;
  options.algorithm = "pairwise";
  EXPECT_EQ(shapes(draw_into(file, options), "message").size(), 12u);
  options.algorithm = "hint-row";
  EXPECT_EQ(shapes(draw_into(file, options), "copy").size(), 16u);
  options.collective = "neighbor_alltoall";
  options.algorithm = "sh-co";
  options.neighborhood = "von-neumann:2";
  options.grid = "3x3";
  EXPECT_EQ(shapes(draw_into(file, options), "copy").size(), 36u);
  options.algorithm = "torus";
  EXPECT_EQ(shapes(draw_into(file, options), "way").size(), 4u);
}

TEST(SvgTest, WhatIsNotForLookingAtIsRefused) {
  ShowOptions options;
  const test::TempFolder folder;
  std::string file = folder.file("show.svg");
  const auto refused = [&] {
    testing::internal::CaptureStderr();
    const int status = show_svg_command(options, file);
    return std::to_string(status) + testing::internal::GetCapturedStderr();
  };
  options.ranks = 65;
  EXPECT_THAT(refused(), HasSubstr("2quadrille-lab show: a picture of 65 ranks is not for looking at"));
  options.ranks = 4;
  file = "/nowhere/show.svg";
  EXPECT_THAT(refused(), HasSubstr("cannot write '/nowhere/show.svg'"));
  file = folder.file("show.svg");
  options.collective = "neighbor_alltoall";
  options.neighborhood = "moore:3,1";
  EXPECT_THAT(refused(), HasSubstr("one or two dimensions"));
  options.collective = "neighbor_allgather";
  options.neighborhood = "moore:2,1";
  EXPECT_THAT(refused(), HasSubstr("hops are drawn of an all-to-all"));
}

}  // namespace
}  // namespace quadrille::tools
