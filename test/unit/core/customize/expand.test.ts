import { describe, expect, it } from 'vitest';
import { configMap, failure, rendered, shop } from './support.ts';

const facts = shop({
  labels: { a: 'label', 'example.com/zone': 'z' },
  annotations: { a: 'annotation', b: 'annotation' },
  properties: { a: 'property', b: 'property', 'carbon.gPerKWh': '56' },
});
const expanded = (text: string) => rendered(configMap({ text }), [], facts, true).object.data;

describe('expanding parameters', () => {
  it.each([
    ['%(a)', 'label'],
    ['%(b)', 'annotation'],
    ['%(carbon.gPerKWh)', '56'],
    ['%(example.com/zone)-%(b)', 'z-annotation'],
    ['100%', '100%'],
    ['100%%', '100%'],
    ['%%(a)', '%(a)'],
    ['%%%(a)', '%label'],
    ['%d %s', '%d %s'],
  ])('makes %j to %j: labels first, then annotations, then properties', (text, result) => {
    expect(expanded(text)).toEqual({ text: result });
  });

  it('reaches every string of the object', () => {
    const object = { ...configMap({ text: '%(a)' }, { labels: { l: '%(b)' } }), list: [{ deep: '%(a)' }] };
    const board = { ...object, kind: 'Board', apiVersion: 'example.com/v1' };
    expect(rendered(board, [], facts, true).object).toMatchObject({
      metadata: { labels: { l: 'annotation' } },
      data: { text: 'label' },
      list: [{ deep: 'label' }],
    });
  });

  it('names an unknown name, and its place', () => {
    expect(failure(configMap({ text: 'a %(stroe)' }), [], facts, true)).toMatch(
      /^annotation edge\.banyan\.io\/expand-parameters: data\.text: "%\(stroe\)" names no label and no annotation of the Location and no property/,
    );
  });

  it('names the place of a name without an end', () => {
    expect(failure(configMap({ text: '%(a' }), [], facts, true)).toContain('data.text: "%(" without its ")"');
  });

  it('does not expand inserted values, and runs before Customizers', () => {
    const twice = shop({ annotations: { a: '%(b)', b: 'x' } });
    expect(rendered(configMap({ text: '%(a)' }), [], twice, true).object.data).toEqual({ text: '%(b)' });
    const spec = { replacements: [{ path: '$.data.more', value: '%(a) ${{ object.data.text }}' }] };
    expect(rendered(configMap({ text: '%(b)' }), spec, twice, true).object.data).toEqual({ text: 'x', more: '%(a) x' });
  });

  it('has a bounded result size', () => {
    const large = shop({ annotations: { a: 'x'.repeat(200_000) } });
    expect(failure(configMap({ text: '%(a)'.repeat(1_000) }), [], large, true)).toContain(
      'characters would be put into one object',
    );
  });
});
