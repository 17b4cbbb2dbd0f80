/** The parameters of an agent. They contain no socket. */

import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { HeldRows } from '../../core/feed/deletions.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import type { Acceptance } from '../../core/match/acceptance.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import type { WatermarkWait } from '../../core/session/watermark-gate.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import type { ReportedTrust } from '../../core/wire/tree-trust.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { LimitUse } from '../limits/limit-use.ts';

export interface AgentOptions {
  /** `eu:paris:store-17` */
  readonly path: string;
  readonly version: string;
  /** The rules of the site about objects of each source. Absent: the site accepts everything. */
  readonly accept?: Acceptance | undefined;
  readonly store: Store;
  /** The rows of the down feed's table that are not quarantined. */
  readonly downstream: Table;
  /** The consumer of the down feed, which knows the quarantined rows. */
  readonly quarantine?: FeedConsumer;
  readonly outbox: Producer;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How much of its memory limit the process uses. Undefined: the process has no memory limit. */
  readonly memory?: (() => LimitUse | undefined) | undefined;
  /** Calls `turn` in a later turn of the event loop, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
  /** The last error message of the previous process, if that process crashed. */
  readonly crashMessage?: string | undefined;
  /** True: the agent applies, corrects and removes nothing before `resume`. */
  readonly isHeldBack?: boolean | undefined;
  /** Called when `hasReportedAll` may have changed. */
  readonly reportedAllChanged?: () => void;
  /** Called when the cluster was restored to an earlier state. */
  readonly wentBack?: () => void;
  /** The rows that the agent keeps although its parent lacks them. */
  readonly held?: (reader: Reader) => HeldRows | undefined;
  /** How the agent's copy of the down feed differs from the parent's. Undefined: no difference was found. */
  readonly diverged?: () => Divergence | undefined;
  /** Why the agent's certificate is not renewed. */
  readonly certificateTrouble?: () => TroubleAttributes | undefined;
  /** The authorities of the agent's certificate, and those that it trusts. */
  readonly trust?: () => ReportedTrust | undefined;
  /** Why the agent accepts nothing from the parent now. Undefined: the agent accepts what the parent sends. */
  readonly waiting?: () => WatermarkWait | undefined;
}
