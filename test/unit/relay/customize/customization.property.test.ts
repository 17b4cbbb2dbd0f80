import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selecting } from '../support/schedule-bench.ts';
import { CustomizeBench } from './customize-bench.ts';

const shops = ['one', 'two', 'three'] as const;

/** The contents of a Customizer, and its result: undefined if it fails. */
const values: Readonly<Record<string, { value: string; at: (shop: Place) => string | undefined }>> = {
  name: { value: '${{ location.metadata.annotations["store-name"] }}', at: ({ name }) => name },
  colour: { value: '${{ location.metadata.labels.colour }}', at: ({ colour }) => colour },
  either: {
    value: '${{ "colour" in location.metadata.labels ? location.metadata.labels.colour : object.data.text }}',
    at: ({ colour, text }) => colour ?? text,
  },
  constant: { value: 'always', at: () => 'always' },
};

interface Place {
  readonly name: string;
  readonly colour: string | undefined;
  readonly text: string;
}

type Act =
  | { readonly type: 'place'; readonly shop: (typeof shops)[number]; readonly name: string; readonly colour?: string }
  | { readonly type: 'customizer'; readonly valueName: string | undefined }
  | { readonly type: 'object'; readonly text: string; readonly customized: boolean }
  | { readonly type: 'placement'; readonly site: string }
  | { readonly type: 'settle' }
  | { readonly type: 'start' };

const letter = fc.constantFrom('a', 'b');
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record(
    { type: fc.constant('place' as const), shop: fc.constantFrom(...shops), name: letter, colour: letter },
    { requiredKeys: ['type', 'shop', 'name'] },
  ),
  fc.record({
    type: fc.constant('customizer' as const),
    valueName: fc.option(fc.constantFrom(...Object.keys(values)), { nil: undefined }),
  }),
  fc.record({ type: fc.constant('object' as const), text: letter, customized: fc.boolean() }),
  fc.record({ type: fc.constant('placement' as const), site: fc.constantFrom('shop', 'shop', 'elsewhere') }),
  fc.record({ type: fc.constant('settle' as const) }),
  fc.record({ type: fc.constant('start' as const) }),
);

/** The present state of everything, and the object that each shop has. */
class Model {
  readonly places = new Map(shops.map((shop) => [shop, { name: 'a', colour: undefined as string | undefined }]));
  valueName: string | undefined = 'name';
  text = 'a';
  customized = true;
  site = 'shop';
  readonly has = new Map<string, string | undefined>();

  settle(): void {
    for (const shop of shops) {
      const wanted = this.#wanted(shop);
      if (this.site !== 'shop') this.has.delete(shop);
      else if (wanted !== undefined) this.has.set(shop, wanted);
    }
  }

  fails(shop: (typeof shops)[number]): boolean {
    return this.site === 'shop' && this.#wanted(shop) === undefined;
  }

  #wanted(shop: (typeof shops)[number]): string | undefined {
    if (!this.customized) return this.text;
    return this.valueName === undefined
      ? undefined
      : values[this.valueName]!.at({ ...this.places.get(shop)!, text: this.text });
  }
}

describe('customization', () => {
  it('gives every agent the present object for its place, or the last one that could be made, in whatever order things change', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        const bench = new CustomizeBench();
        const model = new Model();
        for (const shop of shops) bench.shop(shop, 'a');
        bench.placement('p', selecting('shop'));
        bench.writeCustomizer(values.name!.value);
        bench.writeConfigMap('a');
        bench.settle();
        model.settle();
        for (const one of [...acts, { type: 'settle' } as const]) {
          perform(bench, model, one);
          if (one.type !== 'settle') continue;
          expect(bench.texts(...shops)).toEqual(shops.map((shop) => model.has.get(shop)));
          if (model.site !== 'shop') continue;
          expect(shops.map((shop) => bench.failures(shop).length > 0)).toEqual(shops.map((shop) => model.fails(shop)));
          const before = bench.evaluations;
          bench.settle();
          expect(bench.evaluations).toBe(before);
        }
      }),
      { numRuns: 200 },
    );
  });
});

function perform(bench: CustomizeBench, model: Model, one: Act): void {
  switch (one.type) {
    case 'place':
      model.places.set(one.shop, { name: one.name, colour: one.colour });
      bench.shop(one.shop, one.name, one.colour === undefined ? {} : { colour: one.colour });
      return;
    case 'customizer':
      model.valueName = one.valueName;
      if (one.valueName === undefined) bench.removeCustomizer('greet');
      else bench.writeCustomizer(values[one.valueName]!.value);
      return;
    case 'object':
      model.text = one.text;
      model.customized = one.customized;
      bench.writeConfigMap(one.text, one.customized ? { customizers: ['shop/greet'] } : {});
      return;
    case 'placement':
      model.site = one.site;
      bench.placement('p', selecting(one.site));
      return;
    case 'settle':
      bench.settle();
      model.settle();
      return;
    case 'start':
      bench.start();
      return;
  }
}
