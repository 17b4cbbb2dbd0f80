import { describe, expect, it } from 'vitest';
import { applyJsonPatch } from '../../../../../core/apiserver/patch/json-patch.ts';
import { errorOf } from '../verbs/fake-space.ts';

const target = { a: { b: [1, 2, 3], c: 'x' }, 'd/e~f': 0 };
const prefix = 'the server rejected our request due to an error in our request: ';

describe('applyJsonPatch', () => {
  it('applies the operations in order', () => {
    const result = applyJsonPatch(target, [
      { op: 'test', path: '/a/c', value: 'x' },
      { op: 'add', path: '/a/b/1', value: 9 },
      { op: 'add', path: '/a/b/-', value: 4 },
      { op: 'remove', path: '/a/b/0' },
      { op: 'replace', path: '/d~1e~0f', value: 1 },
      { op: 'copy', from: '/a/c', path: '/g' },
      { op: 'move', from: '/a/c', path: '/h' },
    ]);
    expect(result).toEqual({ a: { b: [9, 2, 3, 4] }, 'd/e~f': 1, g: 'x', h: 'x' });
  });

  it('does not change the target, even if it fails half-way', () => {
    const before = structuredClone(target);
    errorOf(() =>
      applyJsonPatch(target, [
        { op: 'remove', path: '/a' },
        { op: 'remove', path: '/nope' },
      ]),
    );
    expect(target).toEqual(before);
  });

  it.each([
    [{ op: 'remove', path: '/nope' }, 'remove operation does not apply: doc is missing path: /nope'],
    [{ op: 'add', path: '/x/y', value: 1 }, 'add operation does not apply: doc is missing path: /x/y'],
    [{ op: 'replace', path: '/a/b/7', value: 1 }, 'replace operation does not apply: doc is missing path: /a/b/7'],
    [{ op: 'remove', path: '/a/b/length' }, 'remove operation does not apply: doc is missing path: /a/b/length'],
    [{ op: 'replace', path: '/a/b/-', value: 1 }, 'replace operation does not apply: doc is missing path: /a/b/-'],
    [{ op: 'add', path: '/a/b/01', value: 1 }, 'add operation does not apply: doc is missing path: /a/b/01'],
    [{ op: 'add', path: '/a/constructor/x', value: 1 }, 'add operation does not apply'],
    [{ op: 'test', path: '/a/c', value: 'y' }, 'testing value /a/c failed: test failed'],
    [{ op: 'copy', from: '/nope', path: '/x' }, 'copy operation does not apply'],
  ])('refuses %j as Kubernetes does', (operation, message) => {
    const error = errorOf(() => applyJsonPatch(target, [operation]));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(prefix + message);
  });

  it.each([
    [{ op: 'remove', path: '/a' }],
    [[{ op: 'jump', path: '/a' }]],
    [[{ op: 'remove' }]],
    [['remove']],
    [[{ op: 'add', path: '/a' }]],
    [[{ op: 'move', path: '/a' }]],
    [[{ op: 'remove', path: 'a' }]],
    [[{ op: 'add', path: '/__proto__/x', value: 1 }]],
  ])('does not accept %j as a patch', (operations) => {
    const error = errorOf(() => applyJsonPatch(target, operations));
    expect(error.code).toBe('BadRequest');
    expect(error.message).toMatch(/^error decoding patch: /);
  });

  it('bounds the number of operations', () => {
    const operations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a/c', value: 'x' }));
    expect(errorOf(() => applyJsonPatch(target, operations))).toMatchObject({
      code: 'TooLarge',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    });
  });

  it('bounds the copied data, which may double with each operation', () => {
    const operations = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/a', path: `/a/${i}` }));
    expect(errorOf(() => applyJsonPatch(target, operations))).toMatchObject({
      code: 'TooLarge',
      message: expect.stringMatching(/the accumulated size increase of copy is \d{7}, exceeding the limit 3145728$/),
    });
  });

  it('tests long lists item by item', () => {
    const items = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    const operation = { op: 'test', path: '/items', value: [...items.slice(1), { i: 0 }] };
    expect(errorOf(() => applyJsonPatch({ items }, [operation])).message).toMatch(/testing value \/items failed/);
    expect(applyJsonPatch({ items }, [{ ...operation, value: items }])).toEqual({ items });
  });
});
