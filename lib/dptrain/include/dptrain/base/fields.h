#pragma once

#include <string>

namespace dptrain {

// What is stored in files or sent between ranks lists its fields once: a struct by DPTRAIN_FIELDS behind it, a class with
// private members by a member function
//
//   template <class Visit> void fields(Visit &visit) { visit("step, energy", step_, energy_); }
//
// Files keep fields by these names (State), messages by their order (broadcast). A file that lacks a name is refused;
// names that are given to visit.or_default() keep the value that they have.

/// All fields of a struct, in the order of their declaration, under their own names: with one that is not listed it does not
/// compile.
#define DPTRAIN_FIELDS(Struct, ...)                                \
  template <class Visit> void fields(Visit &visit, Struct &object) \
  {                                                                \
    auto &[__VA_ARGS__] = object;                                  \
    visit(#__VA_ARGS__, __VA_ARGS__);                              \
  }

template <class Visit, class T> void visit_fields(Visit &visit, T &object)
{
  if constexpr (requires { object.fields(visit); })
    object.fields(visit);
  else
    fields(visit, object);
}

/// Takes the first name from a list "step, energy".
inline std::string next_name(const char *&names)
{
  while (*names == ' ' || *names == ',') ++names;
  const char *begin = names;
  while (*names && *names != ',') ++names;
  return {begin, names};
}

}  // namespace dptrain
