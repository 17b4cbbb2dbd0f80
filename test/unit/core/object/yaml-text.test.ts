/** JSON values as YAML: readers of both versions get the same values back, and the text has the style of the Kubernetes API server. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { yamlItem, yamlText } from '../../../../core/object/yaml-text.ts';

const read = (text: string, version: '1.1' | '1.2') => parse(text, { version, uniqueKeys: false }) as unknown;

/** Texts that readers may take for something else, beside every other text. */
const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[-+0-9a-fox_.:,eTZ ]{0,12}$/),
  fc.stringMatching(/^[-?:,[\]{}#&*!|>'"%@`~=< \n\tab]{0,8}$/),
  fc.constantFrom(
    'yes',
    'No',
    'ON',
    'y',
    'N',
    '~',
    'Null',
    '<<',
    '=',
    '.inf',
    '-.INF',
    '.NaN',
    '1:20',
    '2001-12-14',
    '',
  ),
);
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0 || 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(texts, fc.string({ minLength: 120, maxLength: 140 })), tie('value'), { maxKeys: 4 }),
  ),
}));

describe('the YAML of a JSON value', () => {
  it.each(['1.1', '1.2'] as const)('is read as the same value by YAML %s, alone and as an item', (version) => {
    fc.assert(
      fc.property(values, (value) => {
        expect(read(yamlText(value), version)).toEqual(value);
        expect(read(yamlItem(value) + yamlItem(1), version)).toEqual([value, 1]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has the style of the Kubernetes API server', () => {
    const object = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'till', labels: {}, finalizers: [], resourceVersion: '12', uid: undefined },
      data: { port: '80', text: 'a\nb\n', open: 'no\n\n', key: 'a: b', tab: 'a\tb', 'no.wait': "it's", empty: '' },
      items: [{ b: [[1, 2n ** 60n]], a: 'x\ny' }, 'plain text', 'true', 0.5],
    };
    expect(yamlText(object)).toBe(`apiVersion: v1
data:
  empty: ""
  key: 'a: b'
  no.wait: it's
  open: |+
    no

  port: "80"
  tab: "a\\tb"
  text: |
    a
    b
items:
- a: |-
    x
    y
  b:
  - - 1
    - 1152921504606846976
- plain text
- "true"
- 0.5
kind: ConfigMap
metadata:
  finalizers: []
  labels: {}
  name: till
  resourceVersion: "12"
`);
  });

  it('takes time in proportion to a text, whatever the text looks like', () => {
    const long = 200_000;
    for (const piece of ['1', '_', '1:', ':1', '1_', '-', '.', ' ', "'", '2001-12-14 ', 'a\n', '\t', 'e1']) {
      const text = `${piece.repeat(long)}x`;
      expect(read(yamlText({ text }), '1.1')).toEqual({ text });
    }
  });

  it('is refused if a value with many levels would make the text too long', () => {
    let deep: unknown = Array.from({ length: 40_000 }, () => 1);
    for (let level = 0; level < 200; level++) deep = [deep];
    expect(() => yamlText({ deep })).toThrow(expect.objectContaining({ code: 'TooLarge' }));
    const text = 'a\n'.repeat(700_000);
    expect(read(yamlText({ data: { text } }), '1.2')).toEqual({ data: { text } });
    deep = text;
    for (let level = 0; level < 200; level++) deep = [deep];
    expect(yamlText(deep).length).toBeLessThan(3_000_000);
  });
});
