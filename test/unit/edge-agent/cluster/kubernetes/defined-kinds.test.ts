import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { DefinedKinds } from '../../../../../edge-agent/cluster/kubernetes/defined-kinds.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

class Bench {
  readonly clock = new VirtualClock();
  defined: () => Promise<readonly string[]> = async () => ['tills.shop.example', 'carts.shop.example'];
  served = ['pods', 'tills.shop.example', 'carts.shop.example'];
  /** The result of discovery, until it is dropped. */
  #known: ReadonlySet<string> | undefined;
  lists = 0;
  looks = 0;
  readonly kinds = new DefinedKinds({
    clock: this.clock,
    defined: () => {
      this.lists++;
      return this.defined();
    },
    served: async () => {
      this.looks++;
      this.#known ??= new Set(this.served);
      return this.#known;
    },
    forget: () => this.forget(),
  });

  forget(): void {
    this.#known = undefined;
  }

  /** True if the result can be trusted. */
  async isReady(): Promise<boolean> {
    let ready = false;
    void this.kinds.ready().then(() => {
      ready = true;
    });
    await settle();
    return ready;
  }
}

describe('the list of kinds that an API server serves', () => {
  test('is trusted at once if all defined kinds are served, and not checked again', async () => {
    const bench = new Bench();
    for (let i = 0; i < 3; i++) expect(await bench.isReady()).toBe(true);
    expect([bench.lists, bench.looks]).toEqual([1, 1]);
  });

  test('is awaited while it lacks a defined kind', async () => {
    const bench = new Bench();
    bench.served = ['pods', 'tills.shop.example'];
    expect(await bench.isReady()).toBe(false);
    bench.clock.advance(1_000);
    expect(await bench.isReady()).toBe(false);
    bench.served.push('carts.shop.example');
    bench.clock.advance(250);
    await settle();
    expect(await bench.isReady()).toBe(true);
  });

  test('is trusted after five seconds: a definition may never be established', async () => {
    const bench = new Bench();
    bench.served = ['pods'];
    for (let ms = 0; ms < 5_000; ms += 250) {
      expect(await bench.isReady()).toBe(false);
      bench.clock.advance(250);
      await settle();
    }
    expect([await bench.isReady(), bench.looks]).toEqual([true, 20]);
  });

  test('is checked again if the server may be another one', async () => {
    const bench = new Bench();
    await bench.isReady();
    bench.kinds.again();
    bench.forget();
    bench.served = ['pods'];
    expect(await bench.isReady()).toBe(false);
  });

  test.each([
    ['for good where definitions may not be listed', 'Forbidden', 1],
    ['and asked of again where the server does not answer', 'Unavailable', 2],
  ] as const)('is trusted %s', async (_, code, lists) => {
    const bench = new Bench();
    bench.defined = () => Promise.reject(new BanyanError(code, 'no'));
    expect(await bench.isReady()).toBe(true);
    expect(await bench.isReady()).toBe(true);
    expect(bench.lists).toBe(lists);
  });
});
