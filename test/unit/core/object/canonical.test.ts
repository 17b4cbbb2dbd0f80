import { describe, expect, it } from 'vitest';
import { canonicalBytes, metadataNumberIn } from '../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

describe('a number that is cut out of the metadata', () => {
  const cut = (object: KubeObject) => {
    const text = Buffer.from(canonicalBytes(object)).toString();
    const { start, end } = metadataNumberIn(canonicalBytes(object), 'generation') ?? { start: 0, end: 0 };
    return text.slice(0, start) + text.slice(end);
  };
  const object = (metadata: object): KubeObject => ({ apiVersion: 'v1', kind: 'X', metadata });

  it.each<[string, object]>([
    ['between others', { creationTimestamp: 'now', generation: 12, name: 'a' }],
    ['as the first', { generation: 1, name: 'a' }],
    ['as the last', { creationTimestamp: 'now', generation: 1 }],
    ['alone', { generation: 1 }],
    [
      'beside labels and texts of the same name',
      { annotations: { generation: '3', x: '"generation":4' }, generation: 1 },
    ],
  ])('%s', (_, metadata) => {
    const { generation: _generation, ...rest } = metadata as { generation: number };
    expect(JSON.parse(cut(object(metadata)))).toEqual(object(rest));
  });

  it('is no text of the same name', () => {
    const other = object({ annotations: { generation: '3' }, name: 'a' });
    expect(JSON.parse(cut(other))).toEqual(other);
  });
});
