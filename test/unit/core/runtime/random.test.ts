import { expect, it } from 'vitest';
import { systemRandom, uuid } from '../../../../core/runtime/random.ts';

it.each([0, 1, 16, 63, 64, 65, 5000])('gives %i bytes', (length) => {
  expect(systemRandom.bytes(length)).toHaveLength(length);
});

it('gives bytes that nothing changes later, and never the same ones', () => {
  const kept = Array.from({ length: 2_000 }, (_, i) => systemRandom.bytes(16 + (i % 49)));
  const copies = kept.map((bytes) => Buffer.from(bytes).toString('hex'));
  for (let i = 0; i < 1_000; i++) systemRandom.bytes(32);
  expect(kept.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual(copies);
  expect(new Set(copies.map((hex) => hex.slice(0, 32))).size).toBe(copies.length);
  expect(copies.filter((hex) => /^0{16}|0{16}$/.test(hex))).toEqual([]);
});

it('gives each uuid once', () => {
  const uuids = Array.from({ length: 10_000 }, () => uuid(systemRandom));
  expect(new Set(uuids).size).toBe(uuids.length);
  expect(
    uuids.filter((one) => !/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(one)),
  ).toEqual([]);
});
