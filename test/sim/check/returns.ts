/** A child does not dial again before the time that an ending parent has named: the parent is away for a planned time. */
import type { SimProcess } from '../sim-process.ts';
import type { Check, World } from '../world.ts';

export function returns(world: World): Check {
  const name = 'a child does not come back before the time that its parent named';
  const away = new WeakMap<SimProcess, number>();
  return {
    name,
    receiving(connection, to, { frame }) {
      // A child that has closed the connection itself does not receive the Goodbye.
      if (to !== 'child' || frame?.$case !== 'goodbye' || frame.value.returnAfterMs === 0) return;
      if (connection.childEnd.isClosing || connection.childEnd.hasLeft) return;
      away.set(connection.simProcessOf('child'), world.nowMs + frame.value.returnAfterMs);
    },
    sent(connection, from, { frame }) {
      if (from !== 'child' || frame?.$case !== 'hello') return;
      const simProcess = connection.simProcessOf('child');
      const untilMs = away.get(simProcess) ?? 0;
      away.delete(simProcess);
      if (world.nowMs >= untilMs) return;
      world.violation(name, `${connection.child.title} comes ${untilMs - world.nowMs} ms before its parent is back`);
    },
  };
}
