/** What a node is given from outside: the simulation gives it other things than a process does. */
import type { Duplex } from 'node:stream';
import type { TreeUrls } from '../../core/apiserver/http/api-server.ts';
import type { Space, UserInfo } from '../../core/apiserver/space.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Store } from '../../core/store/store.ts';
import type { MeshNetwork } from '../../core/wire/network.ts';
import type { CertificateSigner } from '../join/signer.ts';
import type { CrashJournal } from '../work/work-guard.ts';

/** Where people reach the spaces of a node: the API server of the product, nothing in the simulation. */
export interface NodeApi extends AsyncDisposable {
  mount(prefix: string, space: Space): void;
  /** For prefixes that are not mounted; asked once each. */
  resolveWith(resolver: (prefix: string) => Space | undefined): void;
  /** Serves a connection whose user is known. */
  take(connection: Duplex, user: UserInfo): void;
  /** Serves from now on; the URL. */
  listen(): Promise<string>;
}

export interface NodeAnswers {
  notReady(): string | undefined;
  /** Requests to `/tree/PATH/...`: of other nodes. */
  readonly tree: TreeUrls;
}

export interface NodePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly network: MeshNetwork;
  readonly software: string;
  /** What the process said as it ended last, of an error that nobody caught. */
  readonly crashMessage?: string | undefined;
  readonly workNote?: CrashJournal;
  /** Absent: agents get no certificates here. */
  readonly signer?: CertificateSigner | undefined;
  defer(run: () => void): void;
  /** Made once; `notReady` says what stands in the way of being ready. */
  api(answers: NodeAnswers): NodeApi;
  /** The store is broken, or full as the node starts: nothing can go on. */
  fatal(error: unknown): void;
}
