import { expect, it } from 'vitest';
import type { CustomizerSpec } from '../../../../core/customize/customizer.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { madeFor } from '../../../sim/model/made.ts';
import { Chance } from '../../../sim/plan/chance.ts';
import { madeOf } from '../../../sim/plan/made.ts';
import { rendered, shop } from '../../core/customize/support.ts';

const places = [
  { labels: { env: 'prod', tier: 'one' }, annotations: {}, properties: { tills: '2' } },
  { labels: { env: 'test' }, annotations: { store: 's1' }, properties: { tills: '3', zone: 'n' } },
].map((place, index) => ({ ...place, path: `r:a${index}` }));

it('makes the same objects from plans as the product', () => {
  const nodes = [
    { path: '', role: 'center', labels: {}, spaces: ['retail'] },
    { path: 'a', role: 'agent', labels: {}, spaces: [] },
  ] as const;
  const written = Array.from({ length: 100 }, (_, seed) => madeOf(new Chance(seed), nodes)).flat();
  const applied = written.flatMap(({ action }) => (action.do === 'apply' ? action.objects : []));
  const customizers = applied.filter(({ kind }) => kind === 'Customizer');
  const objects = applied.filter(({ kind }) => kind === 'ConfigMap');
  expect([customizers.length > 30, objects.length > 30]).toEqual([true, true]);
  objects.forEach((object, index) => {
    const customizer = customizers[index % customizers.length]!;
    const place = places[index % places.length]!;
    const annotations = object.metadata.annotations ?? {};
    const specs = annotations['edge.banyan.io/customizer'] ? [customizer.spec as CustomizerSpec] : [];
    const expands = annotations['edge.banyan.io/expand-parameters'] === 'true';
    const { object: made } = rendered(object, specs, shop(place), expands);
    expect(dataOf(madeFor(object, [customizer], place))).toEqual(dataOf(made));
  });
});

function dataOf(object: KubeObject): unknown {
  return (object as { data?: unknown }).data;
}
