import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { beginBoot, passBootCounter, readNodeIdentity } from '../../../../core/session/node-identity.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

function passed(known: (own: number) => number): number {
  const store = new MemoryStore();
  const { bootCounter } = store.write((t) => beginBoot(t, new VirtualClock(), new SeededRandom(1)));
  store.write((t) => passBootCounter(t, known(bootCounter)));
  return store.read((reader) => readNodeIdentity(reader))!.bootCounter - bootCounter;
}

describe('the boot counter that a parent knows', () => {
  it('is passed by one when it is not below the own one', () => {
    expect(passed((own) => own)).toBe(1);
    expect(passed((own) => own + 40)).toBe(41);
  });

  it('changes nothing when it is below, or beyond what any clock says', () => {
    expect(passed((own) => own - 1)).toBe(0);
    expect(passed(() => 2 ** 47)).toBe(0);
  });
});
