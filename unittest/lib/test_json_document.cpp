// Places of keys in a JSON text, and texts that are refused.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "dptrain/base/error.h"
#include "dptrain/input/config.h"
#include "input/json_document.h"
#include "support/input.h"
#include "support/scratch.h"

namespace dptrain::test {

TEST(JsonDocument, KnowsThePlaceOfEachKey)
{
  const JsonDocument document(
      "{ \"a\": {\"b\\\"}\": \"{,\\\\\",\n  \"c\" : [1, {\"d\": [], \"\": 2}]},\n"
      "\t\"e\":null, \"s/t\": 1}\n",
      "f");
  EXPECT_EQ(document.where("a"), "f:1:3");
  EXPECT_EQ(document.where("a/b\"}"), "f:1:9");
  EXPECT_EQ(document.where("a/c"), "f:2:3");
  EXPECT_EQ(document.where("a/c/1/d"), "f:2:14");
  EXPECT_EQ(document.where("a/c/1/"), "f:2:23");
  EXPECT_EQ(document.where("e"), "f:3:2");
  // the nearest key above
  EXPECT_EQ(document.where("a/c/1/x/y"), "f:2:3");
  EXPECT_EQ(document.where("e/x"), "f:3:2");
  EXPECT_EQ(document.where("x"), "f");
  EXPECT_EQ(document.where("s/t"), "f");
  EXPECT_EQ(JsonDocument(" 3 ", "f").where("a"), "f");
}

TEST(JsonDocument, RefusesAKeyThatIsGivenTwice)
{
  const auto message = [](const char *text) {
    return message_of([&] { JsonDocument document(text, "f"); });
  };
  EXPECT_EQ(message("{\"a\": 1,\n \"a\": 1}"), "f:2:2: a: given twice, first in line 1; keep one");
  EXPECT_EQ(message("[{\"a\": {\"b\": [], \"\\u0062\": {}}}]"),
            "f:1:18: 0/a/b: given twice, first in line 1; keep one");
  EXPECT_NO_THROW(
      JsonDocument("{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}, \"a/b\": 1, \"b\": [{\"x\": 1}, "
                   "{\"x\": 1}]}",
                   "f"));
}

TEST(JsonDocument, RefusesWhatIsNotJson)
{
  const auto message = [](const std::string &text) {
    return message_of([&] { JsonDocument document(text, "f"); });
  };
  for (const char *text : {"", "{", "{\"a\" 1}", "{\"a\": 1,}", "nan", "{'a': 1}", "[1e999]",
                           "{\"a\": 1} {\"b\": 2}", "# text", "model: 1", "\"\x80\""})
    expect_in("not valid JSON", message(text));
  expect_in("f:2:8: not valid JSON", message("{\n\"a\": 1}}"));
  expect_in("nested deeper than 64 levels", message(std::string(65, '[') + std::string(65, ']')));
  expect_in("nested deeper", message(std::string(100000, '[') + std::string(100000, ']')));
  EXPECT_NO_THROW(JsonDocument(std::string(64, '[') + std::string(64, ']'), "f"));
}

// A damaged file is read or refused with a message; under the sanitizers this also sees what the message does not.
TEST(JsonDocument, DamageIsReadOrNamed)
{
  const std::string whole = resolved_input_text(read(json::parse(smallest)));
  std::mt19937 random(1);
  int refused = 0;
  constexpr int count = 10000;
  for (int i = 0; i < count; ++i) {
    std::string text = whole;
    for (int change = random() % 3; change >= 0; --change) {
      const std::size_t place = random() % text.size();
      switch (random() % 4) {
      case 0:
        text[place] = static_cast<char>(random());
        break;
      case 1:
        text.erase(place, 1 + random() % 20);
        break;
      case 2:
        text.insert(place, text.substr(random() % text.size(), random() % 20));
        break;
      default:
        text[place] = "{}[],:\"\\0-e"[random() % 11];
      }
      if (text.empty()) text = " ";
    }
    try {
      read_input_text(text, "input.json");
    } catch (const Error &error) {
      ++refused;
      ASSERT_EQ(std::string(error.what()).rfind("input.json", 0), 0u) << error.what();
    }
  }
  EXPECT_GT(refused, count / 2);
}

}  // namespace dptrain::test
