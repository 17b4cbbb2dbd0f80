import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Move } from '../../../../core/move/move.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { type MeshShape, MoveMesh } from '../support/move-mesh.ts';

const deadlineSeconds = 600;
const make: Move = { order: 'MakeBeforeBreak', deadlineSeconds };
const breaks: Move = { order: 'BreakBeforeMake', deadlineSeconds };
const available = (mesh: MoveMesh) => mesh.copies((copy) => copy === 'available');
const running = (mesh: MoveMesh) => mesh.copies((copy) => copy !== 'none');

/** Up to five relays anywhere below each other, and two to five agents anywhere below them. */
const shape: fc.Arbitrary<MeshShape> = fc
  .tuple(fc.array(fc.nat(), { maxLength: 5 }), fc.array(fc.nat(), { minLength: 2, maxLength: 5 }))
  .map(([relays, agents]) => ({
    relays: relays.map((parent, i) => parent % (i + 1)),
    agents: agents.map((parent) => parent % (relays.length + 1)),
  }));

class Dice {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  below(n: number): number {
    return Math.floor(this.#random.fraction() * n);
  }

  /** A non-empty subset of the agents. */
  some(n: number): number[] {
    const chosen = Array.from({ length: n }, (_, i) => i).filter(() => this.below(2) === 0);
    return chosen.length > 0 ? chosen : [this.below(n)];
  }
}

function act(mesh: MoveMesh, dice: Dice): void {
  const actions = mesh.actions();
  actions[dice.below(actions.length)]!();
}

describe('moves in any tree, in any order of messages', () => {
  it('with MakeBeforeBreak never leave a placement without an available copy once it had one, whatever restarts and whichever node is silent', () => {
    fc.assert(
      fc.property(shape, fc.nat(), (tree, seed) => {
        const mesh = new MoveMesh(tree);
        const dice = new Dice(seed);
        const n = tree.agents.length;
        const check = () => expect(available(mesh).length).toBeGreaterThan(0);
        let chosen = dice.some(n);
        mesh.place(chosen, make);
        mesh.settle();
        expect(available(mesh)).toEqual(chosen);
        for (let i = 0; i < 400; i++) {
          const what = dice.below(100);
          if (what < 2) {
            chosen = dice.some(n);
            mesh.place(chosen, make);
          } else if (what < 4) mesh.relays[dice.below(mesh.relays.length)]!.start();
          else if (what < 6) mesh.toggle(dice.below(100));
          else act(mesh, dice);
          check();
        }
        mesh.connectAll();
        mesh.settle(check);
        expect(running(mesh)).toEqual(chosen);
        expect(mesh.relays[0]!.total()?.move).toMatchObject({ leaving: 0, joining: 0 });
      }),
      { numRuns: 60 },
    );
  });

  it('with MakeBeforeBreak keep a copy when the labels of Locations change one by one, and end where they match', () => {
    fc.assert(
      fc.property(shape, fc.nat(), (tree, seed) => {
        const mesh = new MoveMesh(tree);
        const dice = new Dice(seed);
        const n = tree.agents.length;
        const all = Array.from({ length: n }, (_, i) => i);
        const on = new Set(all);
        const check = () => expect(available(mesh).length).toBeGreaterThan(0);
        mesh.place(all, make);
        mesh.settle();
        for (let i = 0; i < 300; i++) {
          const agent = dice.below(n);
          if (dice.below(100) < 4) {
            if (!on.delete(agent)) on.add(agent);
            mesh.label(tree, agent, on.has(agent));
          } else act(mesh, dice);
          check();
        }
        if (on.size === 0) {
          on.add(0);
          mesh.label(tree, 0, true);
        }
        mesh.settle(check);
        expect(running(mesh)).toEqual([...on].sort());
      }),
      { numRuns: 40 },
    );
  });

  it('with BreakBeforeMake never run two copies at once while all are connected, whatever restarts', () => {
    fc.assert(
      fc.property(shape, fc.nat(), (tree, seed) => {
        const mesh = new MoveMesh(tree);
        const dice = new Dice(seed);
        const n = tree.agents.length;
        const check = () => expect(running(mesh).length).toBeLessThan(2);
        let chosen = [dice.below(n)];
        mesh.place(chosen, breaks);
        mesh.settle(check);
        expect(available(mesh)).toEqual(chosen);
        for (let i = 0; i < 400; i++) {
          const what = dice.below(100);
          if (what < 2) {
            chosen = [dice.below(n)];
            mesh.place(chosen, breaks);
          } else if (what < 4) mesh.relays[dice.below(mesh.relays.length)]!.start();
          else act(mesh, dice);
          check();
        }
        mesh.settle(check);
        expect(running(mesh)).toEqual(chosen);
      }),
      { numRuns: 60 },
    );
  });
});
