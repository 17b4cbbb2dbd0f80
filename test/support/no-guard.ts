/** A guard for a scheduler whose work never ends the process. */
import type { SchedulePorts } from '../../relay/schedule/ports.ts';

export const noGuard: SchedulePorts['guard'] = {
  begin: (_t, _in, work) => work,
  ended() {},
  rest() {},
};
