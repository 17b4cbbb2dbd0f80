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

  it('does what clients of Kubernetes rely on, although the standard forbids it', () => {
    const result = applyJsonPatch(target, [
      { op: 'replace', path: '/new', value: { x: 1 } },
      { op: 'remove', path: '/a/b/-1' },
      { op: 'add', path: '/a/b/-1', value: 9 },
      { op: 'replace', path: '/a/b/+0', value: 0 },
      { op: 'add', path: '/none' },
      { op: 'test', path: '/absent', value: null },
      { op: 'copy', from: '/absent', path: '/copied' },
      { op: 'add', path: 'ignored/part', value: 2 },
    ]);
    expect(result).toEqual({
      a: { b: [0, 2, 9], c: 'x' },
      'd/e~f': 0,
      new: { x: 1 },
      none: null,
      copied: null,
      part: 2,
    });
    expect(applyJsonPatch(target, [{ op: 'replace', path: '', value: { x: 1 } }])).toEqual({ x: 1 });
  });

  it('gives no value twice: what an operation adds is a copy', () => {
    const value = { x: 1 };
    const result = applyJsonPatch({}, [
      { op: 'add', path: '/a', value },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'replace', path: '/b/x', value: 2 },
    ]);
    expect([result, value]).toEqual([{ a: { x: 1 }, b: { x: 2 } }, { x: 1 }]);
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
    [{ op: 'remove', path: '/a/b/-4' }, 'remove operation does not apply: doc is missing path: /a/b/-4'],
    [{ op: 'remove', path: '/a/b/length' }, 'remove operation does not apply: doc is missing path: /a/b/length'],
    [{ op: 'replace', path: '/a/b/-', value: 1 }, 'replace operation does not apply: doc is missing path: /a/b/-'],
    [{ op: 'add', path: '/a/b/5', value: 1 }, 'add operation does not apply: doc is missing path: /a/b/5'],
    [{ op: 'add', path: '/__proto__/x', value: 1 }, 'add operation does not apply: doc is missing path: /__proto__/x'],
    [{ op: 'remove', path: 'a' }, 'remove operation does not apply: doc is missing path: a'],
    [{ op: 'add', path: '', value: {} }, 'add operation does not apply: doc is missing path: '],
    [{ op: 'replace', path: '', value: 5 }, 'replace operation value must be object or array'],
    [{ op: 'test', path: '', value: {} }, 'testing value  failed'],
    [{ op: 'jump', path: '/a' }, 'Unexpected kind: jump'],
    [{ op: 'remove' }, 'remove operation failed to decode path'],
    [{ op: 'move', path: '/a' }, 'move operation failed to decode path'],
    [{ path: '/a' }, 'Unexpected kind: unknown'],
    [null, 'Unexpected kind: unknown'],
    [{ op: 'add', path: '/a/constructor/x', value: 1 }, 'add operation does not apply'],
    [{ op: 'test', path: '/a/c', value: 'y' }, 'testing value /a/c failed: test failed'],
    [{ op: 'copy', from: '/nope/x', path: '/x' }, 'copy operation does not apply'],
    [{ op: 'move', from: '/nope', path: '/x' }, 'move operation does not apply'],
  ])('refuses %j as Kubernetes does', (operation, message) => {
    const error = errorOf(() => applyJsonPatch(target, [operation]));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(prefix + message);
  });

  it.each([
    [{ op: 'remove', path: '/a' }],
    [[5]],
    [['remove']],
    [[{ op: 5, path: '/a' }]],
    [[{ op: 'remove', path: ['a'] }]],
    [[{ op: 'move', path: '/a', from: true }]],
  ])('does not accept %j as a patch', (operations) => {
    const error = errorOf(() => applyJsonPatch(target, operations));
    expect(error.code).toBe('BadRequest');
    expect(error.message).toMatch(
      /^error decoding patch: json: cannot unmarshal (object|number|string|array|bool) into /,
    );
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
      code: 'Invalid',
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
