import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { ChildClaims } from '../../../../relay/children/child-claims.ts';

/** The claims of a node with this path for which nobody has written claims. */
export function openChildClaims(path = ''): ChildClaims {
  return new ChildClaims({
    path,
    clock: new VirtualClock(),
    log: silentLogger,
    written: () => undefined,
    given: () => undefined,
    inventoryBelow: () => [],
    measured: () => undefined,
  });
}
