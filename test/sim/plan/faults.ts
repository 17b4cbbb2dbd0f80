/** Faults of nodes, disks and lines. */
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

export function faultsOf(chance: Chance, nodes: readonly PlannedNode[], phase: 'work' | 'quiet'): Step[] {
  const steps: Step[] = [];
  const count = chance.below(4 + nodes.length);
  for (let i = 0; i < count; i++) steps.push(...faultOf(chance, nodes, phase));
  return steps;
}

/** Restores an origin to its state of two starts ago. */
export function lostOriginOf(chance: Chance, { path: node }: PlannedNode): Step[] {
  const atMs = 2_000 + chance.below(8_000);
  const crash = (afterMs: number): Step => ({ atMs: atMs + afterMs, action: { do: 'crash', node, afterEffects: 1 } });
  const restoredMs = 8_000 + chance.below(20_000);
  return [
    { atMs, action: { do: 'backup', node } },
    crash(100),
    crash(3_000),
    { atMs: atMs + restoredMs, action: { do: 'restore', node } },
  ];
}

/** Returns a fault. If the fault lasts, its end is another step. */
function faultOf(chance: Chance, nodes: readonly PlannedNode[], phase: 'work' | 'quiet'): Step[] {
  const atMs = 500 + chance.below(spanMs - 500);
  const lasting = (begin: Action, end: Action, ms: number): Step[] => [
    { atMs, action: begin },
    { atMs: atMs + ms, action: end },
  ];
  const any = chance.of(nodes);
  const { path: child } = chance.of(nodes.slice(1));
  // Nodes without spaces: if such a node loses its store, other nodes still have everything.
  const losable = nodes.slice(1).filter(({ spaces }) => spaces.length === 0);
  const at = chance.fraction();
  if (at < 0.3) {
    const afterEffects = 1 + Math.floor(60 * chance.fraction() ** 2);
    return [{ atMs, action: { do: 'crash', node: any.path, afterEffects } }];
  }
  if (at < 0.4) return lasting({ do: 'stop', node: any.path }, { do: 'start', node: any.path }, chance.below(20_000));
  if (at < 0.5 && losable.length > 0) return [{ atMs, action: { do: 'empty', node: chance.of(losable).path } }];
  if (at < 0.6 && losable.length > 0) {
    const { path: node } = chance.of(losable);
    return lasting({ do: 'backup', node }, { do: 'restore', node }, chance.below(15_000));
  }
  if (at < 0.68) return [{ atMs, action: { do: 'reset', node: child } }];
  if (at < 0.74) return lasting({ do: 'cut', node: child }, { do: 'mend', node: child }, chance.below(20_000));
  if (at < 0.82) {
    const way = chance.below(3);
    const silence: Action = { do: 'silence', node: child, child: way !== 1, parent: way !== 0 };
    return lasting(silence, { do: 'mend', node: child }, chance.below(chance.is(0.3) ? 90_000 : 10_000));
  }
  if (at < 0.87) {
    const slow: Action = { do: 'slow', node: child, delayMaxMs: 100 + chance.below(3_000), bufferBytes: 256 };
    return lasting(slow, { do: 'mend', node: child }, chance.below(20_000));
  }
  if (at < 0.91) return [{ atMs, action: { do: 'double', node: child, share: 0.3 } }];
  if (at < 0.94) return lasting({ do: 'fill', node: any.path }, { do: 'tidy', node: any.path }, chance.below(8_000));
  if (at < 0.97) return [{ atMs, action: { do: 'jump', node: any.path, ms: chance.below(7_200_000) - 3_600_000 } }];
  if (phase === 'quiet') return [];
  return lasting({ do: 'clone', node: child }, { do: 'unclone', node: child }, chance.below(20_000));
}
