/** Of a scheduler whose work ends no process. */
import type { LoopPorts } from '../../relay/schedule/loop.ts';
import type { SchedulePorts } from '../../relay/schedule/ports.ts';

export const noGuard: LoopPorts['guard'] & SchedulePorts['guard'] = {
  isCareful: false,
  hasBegun: () => true,
  begin: () => Promise.resolve(),
  take: (_t, _in, work) => work,
};
