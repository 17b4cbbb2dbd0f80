import { describe, expect, it } from 'vitest';
import { splitTemplate } from '../../../../core/customize/template.ts';
import { configMap, failure, rendered } from './support.ts';

const text = (value: unknown) =>
  rendered(
    { ...configMap({}), kind: 'Note', apiVersion: 'example.com/v1' },
    {
      replacements: [{ path: '$.note', value: value as string }],
    },
  ).object.note;

describe('a string with expressions', () => {
  it.each([
    ['plain', [{ text: 'plain' }]],
    ['', [{ text: '' }]],
    ['${{ a }}', [{ expression: 'a' }]],
    ['x ${{a}} y ${{ b }}', [{ text: 'x ' }, { expression: 'a' }, { text: ' y ' }, { expression: 'b' }]],
    ['$${{ a }}', [{ text: '${{ a }}' }]],
    ['${{ {"a": {"b": 1}} }}', [{ expression: '{"a": {"b": 1}}' }]],
    ['${{ "}}" }}!', [{ expression: '"}}"' }, { text: '!' }]],
    ["${{ '\\'}}' }}", [{ expression: "'\\'}}'" }]],
    ['${{ r"\\" + "}}" }}', [{ expression: 'r"\\" + "}}"' }]],
    ['${{ """a"}}""" }}', [{ expression: '"""a"}}"""' }]],
    ['{{ mustache }} ${dollar}', [{ text: '{{ mustache }} ${dollar}' }]],
  ])('%s is split into its parts', (source, parts) => {
    expect(splitTemplate(source)).toEqual(parts);
  });

  it('without its end is refused', () => {
    expect(() => splitTemplate('a ${{ b }')).toThrow(/without its "}}"/);
  });

  it.each([
    ['${{ 1 + 1 }}', 2],
    ['${{ 1.5 }}', 1.5],
    ['${{ true }}', true],
    ['${{ null }}', null],
    ['${{ ["a", 1] }}', ['a', 1]],
    ['${{ {"a": 1} }}', { a: 1 }],
    ['${{ {} }}', {}],
    ['${{ location.metadata.labels }}', { env: 'prod', region: 'eu' }],
    ['${{ timestamp("2030-01-01T00:00:00Z") }}', '2030-01-01T00:00:00Z'],
    ['n=${{ 1 + 1 }}', 'n=2'],
    ['${{ 1 }}${{ true }}', '1true'],
    ['${{ ["a"] }}!', '["a"]!'],
    [{ a: ['${{ 1 }}', 'b'] }, { a: [1, 'b'] }],
    ['$${{ path }}', '${{ path }}'],
  ])('%j gives %j', (source, value) => {
    expect(text(source)).toEqual(value);
  });

  it.each([
    ['${{ duration("1h") }}', 'a Duration'],
    ['${{ quantity("1Gi") }}', 'a Quantity'],
    ['${{ 18446744073709551615u }}', 'beyond 64 bits'],
  ])('%s gives a value that no field can hold, and the error says so', (value, what) => {
    const message = failure(configMap({}), { replacements: [{ path: '$.data.a', value }] });
    expect(message).toContain('Customizer shop/greet: spec.replacements[0].value: gives ');
    expect(message).toContain(what);
  });
});
