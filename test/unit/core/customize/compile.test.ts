import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { refusals } from './support.ts';

const ofPatch = (item: object) => refusals({ rules: [{ patch: [item] }] });

describe('a Customizer', () => {
  it('whose expressions do not compile is refused with each of their fields', () => {
    const spec = {
      rules: [
        { when: 'location.', patch: [{ op: 'add', path: '/a', value: { b: ['${{ 1 + }}'] } }] },
        { when: '"text"', patch: [{ merge: { data: { a: '${{ nothing.a }}' } } }] },
      ],
      replacements: [{ path: '$.a', value: '${{ "a" - 1 }}' }],
    };
    expect(refusals(spec).map((text) => text.split(': ')[0])).toEqual([
      'spec.rules[0].when',
      'spec.rules[0].patch[0].value.b[0]',
      'spec.rules[1].when',
      'spec.rules[1].patch[0].merge.data.a',
      'spec.replacements[0].value',
    ]);
    expect(refusals(spec)[2]).toContain('must be of type bool, is string');
    expect(refusals(spec)[3]).toContain('expressions see location, syncTarget, properties, path and object');
  });

  it('with an expression that does not end is refused', () => {
    expect(ofPatch({ op: 'add', path: '/a', value: '${{ path' })).toEqual([
      expect.stringContaining('without its "}}"'),
    ]);
  });

  it.each([
    [{ op: 'put', path: '/a' }, 'spec.rules[0].patch[0].op: Unsupported value: "put": supported values: "add"'],
    [{ path: '/a' }, 'spec.rules[0].patch[0].op: Required value'],
    [{ op: 'remove' }, 'spec.rules[0].patch[0].path: Required value'],
    [{ op: 'add', path: '/a' }, 'spec.rules[0].patch[0].value: Required value: add needs a value'],
    [{ op: 'move', path: '/a' }, 'spec.rules[0].patch[0].from: Required value: move needs a JSON pointer'],
    [{ op: 'replace', path: '', value: {} }, 'spec.rules[0].patch[0].path: Invalid value: "": is the whole object'],
    [{ op: 'remove', path: 'data.a' }, 'a JSON pointer begins with "/"; write "/data/a"'],
    [{ op: 'remove', path: '/a~b' }, 'in a JSON pointer "~" is written "~0"'],
    [{ op: 'remove', path: '/__proto__/a' }, 'leads to __proto__'],
    [
      { op: 'copy', path: '/a', from: 'b' },
      'spec.rules[0].patch[0].from: Invalid value: "b": a JSON pointer begins with "/"',
    ],
    [{ merge: {}, path: '/a' }, 'spec.rules[0].patch[0].path: Invalid value: "/a": belongs to a JSON Patch operation'],
  ])('with the patch %j is refused', (item, message) => {
    expect(ofPatch(item)).toEqual([expect.stringContaining(message)]);
  });

  it('with an invalid JSONPath is refused with an example', () => {
    for (const path of ['$.a[', '$', '', '$.a[?(@.b>1)].c'])
      expect(refusals({ replacements: [{ path, value: 1 }] })).toEqual([
        expect.stringMatching(/^spec\.replacements\[0\]\.path: .*is not a JSONPath to a field, such as \$\.data\.text/),
      ]);
  });

  it('with a selector without rules is refused', () => {
    const target = { labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } };
    expect(refusals({ rules: [{ target, patch: [{ merge: {} }] }] })).toEqual([
      expect.stringContaining('spec.rules[0].target.labelSelector.matchExpressions[0].values'),
    ]);
  });

  it('from the reference page is accepted', () => {
    const file = new URL('../../../../docs/reference/customizer.yaml', import.meta.url);
    expect(refusals((parse(readFileSync(file, 'utf8')) as { spec: object }).spec)).toEqual([]);
  });

  it('with values of any type is accepted', () => {
    for (const value of [null, 0, false, '', [], {}]) expect(ofPatch({ op: 'add', path: '/a', value })).toEqual([]);
  });
});
