import assert from "node:assert/strict";
import { plain, plainJson, plainMessage } from "../client/plain";
import { assertInert, holds, hostileText } from "./cases";

describe("a text of others", () => {
  const cases: [string, string][] = [
    ["words, עברית and 証明書", "words, עברית and 証明書"],
    ["\u001b[31mred\u0007", "\\u001b[31mred\\u0007"],
    ["a\nb\r\n\tc", "a\\nb\\r\\n\\tc"],
    ["\u202egnp.exe \u{e0041}", "\\u202egnp.exe \\udb40\\udc41"],
    ["half \ud83d of 😀", "half \\ud83d of 😀"],
    ["<{%reset%}> <{ %", "<\\u007b%reset%}> <{ %"],
    ["::add-mask::x", ":\\u003aadd-mask::x"],
    ["::1/128, ::2/128", "::1/128, ::2/128"],
    ["  ::Add-mask::x", "  :\\u003aAdd-mask::x"],
    ["fe80::1 urn:pulumi:dev::p", "fe80::1 urn:pulumi:dev::p"],
    [
      "##[group]a ##vso[task.complete] ## [x]",
      "#\\u0023[group]a #\\u0023vso[task.complete] ## [x]",
    ],
  ];
  for (const [text, shown] of cases) {
    it(`C90 ${JSON.stringify(text)} is shown as ${shown}`, () => {
      assert.equal(plain(text), shown);
      assert.equal(plain(shown), shown);
    });
  }

  it("C90 in a message leaves the message its lines, and begins none with a command", () => {
    assert.equal(plainMessage("one:\n  ::a::\r\n::b::"), "one:\n  :\\u003aa::\\r\n:\\u003ab::");
  });

  it("C90 is inert, whatever it is, in a line, in lines and in JSON", () =>
    holds(hostileText, 500, async (text) => {
      assert.ok(!plain(text).includes("\n"));
      assertInert(plain(text));
      assertInert(plainMessage(`${text}\n  ${text}`));
      for (const indent of [undefined, 2]) {
        const json = plainJson({ [text]: [text] }, indent);
        assertInert(json);
        assert.deepEqual(JSON.parse(json), { [text]: [text] });
      }
    }));
});
