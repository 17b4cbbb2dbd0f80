import { describe, expect, it } from 'vitest';
import { keyspace } from '../../../../core/store/keyspace.ts';

describe('the registry of key prefixes', () => {
  it('uses every number once', () => {
    const numbers: number[] = Object.values(keyspace);
    expect(numbers.filter((number, i) => numbers.indexOf(number) !== i)).toEqual([]);
  });
});
