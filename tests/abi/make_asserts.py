#!/usr/bin/env python3
"""Holds the public headers against facts.json, the binary interface that compiled programs rely on.

Two things, since neither finds the other's mistakes:
  facts -> headers  prints a C++17 file of static_asserts; compiling it is the test;
  headers -> facts  reads the headers and fails if they declare a function, enumerator, constant or
                    type that facts.json does not know, or if the functions in facts.json, in the
                    headers and in runtime/exports/*.txt are not the same.

To add a function: declare it in include/, add its type to "functions" in facts.json and its name to
the lists of the libraries that export it.

facts.json
  enums        C++ type: size, signedness, enumerators
  structs      type: size, alignment, fields as name: [offset, size]
  types        alias: the type it stands for
  constants    C++ type of the variable, or "macro": names and values
  functions    name: type
  header_only  functions defined in a header and exported by no library
"""
import argparse
import json
import pathlib
import re
import sys

# A library may export names of another: (part, whole).
CONTAINED = [("acl_rt", "ascendcl"), ("msprofiler", "ascendcl"), ("hcomm", "hccl")]
# How the headers spell declarations, not part of the interface.
SPELLING = {"ACL_FUNC_VISIBILITY", "ACL_INT_CONSTANT", "ACL_UINT_CONSTANT"}


def static_asserts(facts, headers):
    """Lines of a C++17 file that compiles exactly if the headers have the facts."""
    lines = ["#include <cstddef>", "#include <cstdint>", "#include <type_traits>"]
    lines += [f'#include "{h}"' for h in headers]

    def claim(condition, about):
        lines.append(f'static_assert({condition}, "{about}");')

    for name, e in facts["enums"].items():
        claim(f"sizeof({name}) == {e['size']}", f"size of {name}")
        signed = f"std::is_signed<std::underlying_type<{name}>::type>::value"
        claim(f"{signed} == {int(e['signed'])}", f"signedness of {name}")
        for enumerator, value in e["values"].items():
            claim(f"static_cast<long long>({enumerator}) == {value}", enumerator)
            claim(f"std::is_same<decltype({enumerator}), {name}>::value", f"type of {enumerator}")
    for name, s in facts["structs"].items():
        claim(f"sizeof({name}) == {s['size']}", f"size of {name}")
        claim(f"alignof({name}) == {s['align']}", f"alignment of {name}")
        for field, (offset, size) in s["fields"].items():
            claim(f"offsetof({name}, {field}) == {offset}", f"offset of {name}.{field}")
            claim(f"sizeof({name}::{field}) == {size}", f"size of {name}.{field}")
    for name, type_ in facts["types"].items():
        claim(f"std::is_same<{name}, {type_}>::value", name)
    for type_, constants in facts["constants"].items():
        for name, value in constants.items():
            suffix = "ULL" if value > 0x7FFFFFFF else ""
            claim(f"{name} == {value}{suffix}", name)
            if type_ != "macro":
                claim(f"std::is_same<decltype({name}), const {type_}>::value", f"type of {name}")
    for section in ("functions", "header_only"):
        for name, type_ in facts[section].items():
            claim(f"std::is_same<decltype({name}), {type_}>::value", f"signature of {name}")
    return lines


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def declarations(text):
    """File-scope declarations of a header without comments, bodies replaced by {}."""
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
    text = text.replace('extern "C" {', "")
    found, current, depth = [], "", 0
    for c in text:
        if c == "{":
            depth += 1
            if depth == 1:
                current += "{}"
        elif c == "}":
            depth -= 1
            if depth < 0:  # the end of extern "C"
                depth, current = 0, ""
            elif depth == 0 and re.search(r"\)\s*\{\}$", current):  # a function's definition
                found.append(current.strip())
                current = ""
        elif c == ";" and depth == 0:
            found.append(current.strip())
            current = ""
        elif depth == 0:
            current += c
    return [re.sub(r"\s+", " ", d) for d in found if d]


def scan(path):
    """A header's functions, inline functions, enumerators and constants, types; and problems."""
    text = without_comments(path.read_text())
    functions, header_only, names, types, problems = set(), set(), set(), set(), []
    for declaration in declarations(text):
        m = re.match(r"(\w+) ?\(", declaration)
        if m and m[1] in SPELLING:
            names.add(re.match(r"\w+ ?\( ?(\w+)", declaration)[1])
        elif m := re.match(r"typedef .*\{\} ?(\w+)$", declaration):
            types.add(m[1])
        elif m := re.match(r"(?:enum|union|struct) (\w+) \{\}$", declaration):
            types.add(m[1])
        elif re.match(r"typedef struct \w+ \w+$", declaration):
            pass  # opaque: nothing to hold on to
        elif declaration.startswith("typedef"):
            m = re.search(r"\(\*(\w+)\)", declaration) or re.search(r"(\w+)$", declaration)
            types.add(m[1])
        elif m := re.match(r"static const \w+ (\w+) = ", declaration):
            names.add(m[1])
        elif m := re.match(r"static inline .*?(\w+) ?\(.*\{\}$", declaration):
            header_only.add(m[1])
        elif m := re.match(r"(ACL_FUNC_VISIBILITY )?.*?(\w+) ?\([^()]*\)$", declaration):
            functions.add(m[2])
            if not m[1]:
                problems.append(f"{path.name}: {m[2]} is declared without ACL_FUNC_VISIBILITY")
        else:
            problems.append(f"{path.name}: not understood: {declaration}")
    for body in re.findall(r"\benum\b[^{;()]*\{([^}]*)\}", text):
        names.update(re.findall(r"(?:^|,)\s*(\w+)", body))
    names.update(re.findall(r"^\s*#define (\w+) \S", text, flags=re.M))
    names -= SPELLING | {"name"}
    return functions, header_only, names, types, problems


def compare(problems, what, have, have_where, want, want_where):
    problems += [f"{what} {n} is in {have_where} but not in {want_where}"
                 for n in sorted(have - want)]
    problems += [f"{what} {n} is in {want_where} but not in {have_where}"
                 for n in sorted(want - have)]


def reverse_check(facts, include, headers, extension, exports):
    """Sentences about everything that headers, facts and export lists do not agree on.

    The extension's headers have no facts to agree with, but what they declare is exported, too."""
    functions, header_only, names, types, problems = set(), set(), set(), set(), []
    for header in headers:
        f, h, n, t, p = scan(include / header)
        functions |= f
        header_only |= h
        names |= n
        types |= t
        problems += p
    compare(problems, "function", functions, "include/", set(facts["functions"]), "facts.json")
    compare(problems, "inline function", header_only, "include/", set(facts["header_only"]),
            "facts.json")
    known = {n for e in facts["enums"].values() for n in e["values"]}
    known |= {n for c in facts["constants"].values() for n in c}
    compare(problems, "constant", names, "include/", known, "facts.json")
    known = {t.removeprefix("enum ")
             for section in ("enums", "structs", "types") for t in facts[section]}
    compare(problems, "type", types, "include/", known, "facts.json")

    lists = {}
    for path in sorted(exports.glob("*.txt")):
        entries = [l for l in path.read_text().split("\n") if re.match(r"[A-Za-z_]", l)]
        lists[path.stem] = set(entries)
        problems += [f"{path.name}: {n} is listed twice"
                     for n in sorted(lists[path.stem]) if entries.count(n) > 1]
    for header in extension:
        f, _, _, _, p = scan(include / header)
        functions |= f
        problems += p
    compare(problems, "function", set().union(*lists.values()), "runtime/exports", functions,
            "include/")
    for part, whole in CONTAINED:
        problems += [f"{n} is listed in {part}.txt but not in {whole}.txt"
                     for n in sorted(lists.get(part, set()) - lists.get(whole, set()))]
    return problems


def main():
    parser = argparse.ArgumentParser(description="Check the public headers against facts.json.")
    parser.add_argument("--facts", type=pathlib.Path, required=True)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--exports", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the C++ file to write")
    args = parser.parse_args()

    facts = json.loads(args.facts.read_text())
    # include/hcclrun is the project's extension and no part of the emulated interface.
    headers = sorted(p.relative_to(args.include) for p in args.include.rglob("*.h"))
    extension = [h for h in headers if h.parts[0] == "hcclrun"]
    headers = [h for h in headers if h.parts[0] != "hcclrun"]
    args.out.write_text("\n".join(static_asserts(facts, headers)) + "\n")
    problems = reverse_check(facts, args.include, headers, extension, args.exports)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
