import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { downFeedJudge } from '../../../../core/entries/down-check.ts';

const attributes = { uid: 'u', created: 'c', generation: 1, refs: ['shop'] };
const configMap = '{"metadata":{"name":"a"},"apiVersion":"v1","kind":"ConfigMap"}';
const objectKey = 'o/center.retail//configmaps/shop/a';

function flaw(role: 'relay' | 'agent', key: string, attributes: unknown, body = '') {
  const written = typeof attributes === 'string' ? attributes : JSON.stringify(attributes);
  return downFeedJudge(role)({ key, attributes: Buffer.from(written), body: Buffer.from(body) });
}

describe('an entry of the down feed', () => {
  it.each([
    [objectKey, attributes, configMap],
    [objectKey, { ...attributes, ofALaterVersion: 1 }, configMap],
    ['t/center.retail/shop', { generation: 1, target: 4, priority: 0, created: '', uid: '', deletion: 'Orphan' }, ''],
    ['u/center.retail/shop', {}, '{"associated":[],"upsync":[]}'],
    ['p/center.retail/shop', { uid: 'u', created: 'c', generation: 1 }, '{"spec":{"locationSelectors":[{}]}}'],
    ['of-a-later-version/x', 'anything', 'anything'],
  ])('%s may be %j', (key, attributes, body) => {
    expect(flaw('agent', key, attributes, body)).toBeUndefined();
    expect(flaw('relay', key, attributes, body)).toBeUndefined();
  });

  it('is only for relays, or only for agents, where its kind says so', () => {
    const tree = { path: 'eu', labels: { a: 'b' } };
    expect(flaw('relay', 'tree', tree)).toBeUndefined();
    expect(flaw('agent', 'tree', tree)).toEqual({ reason: 'only relays take this entry' });
    const handed = { release: 1, handed: true };
    expect(flaw('agent', 'h/center.retail/shop', handed)).toBeUndefined();
    expect(flaw('relay', 'h/center.retail/shop', handed)).toEqual({
      reason: 'only agents take this entry',
    });
  });

  it.each([
    [objectKey, '{', configMap, 'the attributes are no JSON'],
    [objectKey, [], configMap, 'the attributes: the whole value must be a map'],
    [objectKey, { ...attributes, refs: 'shop' }, configMap, 'the attributes: refs'],
    [objectKey, { ...attributes, refs: ['a/b'] }, configMap, 'refs[0] is no name'],
    ['o/center.retail/configmaps', attributes, configMap, 'the key names no object'],
    [
      't/center.retail',
      { generation: 1, target: 1, priority: 0, created: '', uid: '' },
      '',
      'the key names no placement',
    ],
    [
      't/center.retail/a\0b',
      { generation: 1, target: 1, priority: 0, created: '', uid: '' },
      '',
      'a control character',
    ],
    [`t/center.retail/${'a'.repeat(1_000)}`, {}, '', 'its placement is longer than 700 bytes'],
    [`x/${'a'.repeat(2_000)}`, {}, '', 'the key is longer than 1200 bytes'],
    ['u/center.retail/shop', {}, '{"associated":{}}', 'the body: associated'],
  ])('%s may not be %j with the body %j', (key, attributes, body, reason) => {
    expect(flaw('agent', key, attributes, body)?.reason).toContain(reason);
    expect(flaw('relay', key, attributes, body)?.reason).toContain(reason);
  });

  it('is judged by its body only at nodes that parse the body: objects at agents, and at the relays that customize them', () => {
    expect(flaw('agent', objectKey, attributes, 'torn')?.reason).toContain('the body is no JSON');
    expect(flaw('agent', objectKey, attributes, 'torn')?.refs).toEqual(['shop']);
    const deep = `{"spec":${'['.repeat(2_000)}${']'.repeat(2_000)}}`;
    expect(flaw('agent', objectKey, attributes, deep)?.reason).toContain('nested more than 500 levels deep');
    expect(flaw('relay', objectKey, attributes, 'torn')).toBeUndefined();
    expect(flaw('relay', objectKey, { ...attributes, expand: true }, 'torn')?.reason).toContain('the body is no JSON');
    const placement = { uid: 'u', created: 'c', generation: 1 };
    expect(flaw('relay', 'p/center.retail/shop', placement, '{"spec":{"locationSelectors":3}}')).toBeDefined();
    expect(flaw('agent', 'p/center.retail/shop', placement, '')).toBeUndefined();
  });

  it('is judged without an exception, whatever it contains', () => {
    const prefix = fc.constantFrom(
      '',
      'tree',
      'p/',
      't/',
      'o/',
      'a/',
      'i/',
      'r/',
      'q/',
      'c/',
      'u/',
      'revision-gaps/',
      'owner/',
    );
    fc.assert(
      fc.property(prefix, fc.string(), fc.uint8Array(), fc.json(), fc.uint8Array(), (start, rest, raw, json, body) => {
        for (const role of ['relay', 'agent'] as const) {
          const key = start + rest;
          downFeedJudge(role)({ key, attributes: raw, body });
          downFeedJudge(role)({ key, attributes: Buffer.from(json), body: Buffer.from(json) });
        }
      }),
    );
  });
});
