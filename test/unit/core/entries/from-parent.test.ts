import { describe, expect, it } from 'vitest';
import { checkFromParent, checkWatermarks } from '../../../../core/entries/from-parent.ts';

const check = (path: string, key: string, attributes = '{}') =>
  checkFromParent(path, {
    keyHash: Buffer.alloc(16),
    key,
    originRevision: 1,
    after: { key, attributes: Buffer.from(attributes), body: Buffer.alloc(0) },
  });

describe('an entry that a parent sends', () => {
  it.each([
    ['eu:paris', 'tree', '{"path":"eu:paris","labels":{}}'],
    ['eu:paris', 'p/center.retail/shop', '{}'],
    ['eu:paris:till', 'o/eu.paris.ops//configmaps/shop/a', '{}'],
    ['eu:paris:till', 't/eu.ops/shop', '{}'],
    ['eu:paris', 'of-a-later-version/x', 'anything'],
    ['eu:paris', 'o/center.retail/configmaps', '{}'],
  ])('to %s may be %s', (path, key, attributes) => {
    expect(() => check(path, key, attributes)).not.toThrow();
  });

  it.each([
    [
      'eu:paris',
      'tree',
      '{"path":"eu:berlin","labels":{}}',
      'sends the entry "tree" of the node "eu:berlin" to "eu:paris"',
    ],
    ['eu:paris', 'o/us.ops//configmaps/shop/a', '{}', 'of "us.ops", which is not above it'],
    ['eu:paris', 'p/eu.paris.ops/shop', '{}', 'not above it'],
    ['eu:paris', 'r/europe.ops/shop', '{}', 'not above it'],
    ['eu:paris', 'partial/center.retail/shop', '{}', 'only a child may send'],
    ['eu:paris', 'o/nowhere//configmaps/shop/a', '{}', 'not above it'],
    ['eu:paris', 'p/center.retail/shop', 'no json', 'no JSON object'],
    ['eu:paris', 'p/center.retail/shop', '[1]', 'no JSON object'],
  ])('to %s may not be %s with %s', (path, key, attributes, message) => {
    expect(() => check(path, key, attributes)).toThrow(expect.objectContaining({ code: 'Protocol' }));
    expect(() => check(path, key, attributes)).toThrow(message);
  });
});

describe('watermarks that a parent sends', () => {
  it('are of sources above the child', () => {
    expect(() =>
      checkWatermarks('eu:paris:till', { 'center.retail': 1, 'eu.ops': 2, 'eu.paris.ops': 3 }),
    ).not.toThrow();
    expect(() => checkWatermarks('eu:paris:till', { 'us.ops': 1 })).toThrow(
      'a watermark of "us.ops", which is not above it',
    );
    expect(() => checkWatermarks('eu:paris', { ['x'.repeat(70_000)]: 1 })).toThrow('which is not above it');
  });
});
