/** What an agent without its wires stands on. */

import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { HeldRows } from '../../core/feed/deletions.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import type { WatermarkWait } from '../../core/session/watermark-gate.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { LimitUse } from '../limits/limit-use.ts';

export interface AgentOptions {
  /** `eu:paris:store-17` */
  readonly path: string;
  readonly version: string;
  readonly store: Store;
  /** Without what is quarantined. */
  readonly downstream: Table;
  /** What of it is quarantined. */
  readonly quarantine?: FeedConsumer;
  readonly outbox: Producer;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What its process uses of its cap on memory; undefined: it has none. */
  readonly memory?: (() => LimitUse | undefined) | undefined;
  /** Has `turn` called soon, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  /** What the process said as it ended last. */
  readonly crashMessage?: string | undefined;
  /** Nothing is applied, put back or removed before `resume`. */
  readonly isHeldBack?: boolean | undefined;
  /** What `isHeardOut` says is another answer now. */
  readonly spoke?: () => void;
  /** The cluster was put back to an earlier time. */
  readonly wentBack?: () => void;
  /** What the agent keeps although its parent lacks it. */
  readonly held?: (reader: Reader) => HeldRows | undefined;
  /** The feed from the parent was found to differ. */
  readonly diverged?: () => Divergence | undefined;
  /** Why its certificate is not renewed. */
  readonly certificateTrouble?: () => TroubleAttributes | undefined;
  /** For what it is that nothing is taken from the parent. */
  readonly waiting?: () => WatermarkWait | undefined;
}
