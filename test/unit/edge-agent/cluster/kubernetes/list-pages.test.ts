import { expect, test } from 'vitest';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { ListPages } from '../../../../../edge-agent/cluster/kubernetes/list-pages.ts';

/** This number of objects, of which at most `atOnce` are in one answer. */
function listing(objects: number, atOnce: number) {
  const limits: number[] = [];
  const pages = new ListPages(async ({ query = {} }) => {
    const limit = Number(query.limit);
    limits.push(limit);
    if (Math.min(limit, objects) > atOnce) throw new BanyanError('TooLarge', 'the answer is larger than that');
    const from = Number(query.continue ?? 0);
    const items = Array.from({ length: Math.min(limit, objects - from) }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `o${from + i}` },
    }));
    const next = from + items.length;
    return { metadata: next < objects ? { continue: String(next) } : {}, items };
  });
  const names = async () => {
    const found: string[] = [];
    for await (const { items = [] } of pages.of({ path: '/' }))
      found.push(...(items ?? []).map(({ metadata }) => metadata.name!));
    return found;
  };
  return { names, limits };
}

test('large objects come in smaller pages, all of them once, and the next list begins with such pages', async () => {
  const { names, limits } = listing(40, 10);
  expect(await names()).toEqual(Array.from({ length: 40 }, (_, i) => `o${i}`));
  expect(limits).toEqual([500, 125, 31, 7, 7, 7, 7, 7, 7]);
  limits.length = 0;
  expect(await names()).toHaveLength(40);
  expect(limits[0]).toBe(7);
});

test('an object that is too large alone, and any other refusal, is an error', async () => {
  const { names, limits } = listing(3, 0);
  await expect(names()).rejects.toMatchObject({ code: 'TooLarge' });
  expect(limits.at(-1)).toBe(1);
  const refused = new ListPages(async () => {
    throw new BanyanError('Forbidden', 'you may not list them');
  });
  await expect(refused.of({ path: '/' }).next()).rejects.toMatchObject({ code: 'Forbidden' });
});
