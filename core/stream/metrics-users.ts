/** Users of nodes above who read the metrics of this node with a token. The node names them as it names the users of streams. */
import { MetricsTokens } from '../authentication/metrics-tokens.ts';
import type { Clock } from '../runtime/clock.ts';
import { vouchedUser, wrongVoucher } from './vouching.ts';

/** `fromAbove`: `access.fromAbove` of the node's configuration. With `none`, no token of a node above is good. */
export function metricsTokensAt({
  clock,
  path,
  fromAbove,
}: {
  readonly clock: Clock;
  readonly path: string;
  readonly fromAbove: string;
}): MetricsTokens {
  return new MetricsTokens({
    clock,
    named: (voucher, { name, groups }) =>
      fromAbove === 'none' || wrongVoucher(voucher, path) !== undefined
        ? undefined
        : vouchedUser({ voucher, user: name, groups }, path),
  });
}
