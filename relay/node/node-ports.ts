/** The ports of a node: everything that the node gets from outside. The simulation gives it other implementations than a process does. */

import type { Duplex } from 'node:stream';
import type { Authorizer } from '../../core/access/authorizer.ts';
import type { AccessPlace } from '../../core/access/grant-scope.ts';
import type { NodeUrls, TreeUrls } from '../../core/apiserver/http/node-urls.ts';
import type { IsRevoked, TokenUsers } from '../../core/apiserver/http/request-users.ts';
import type { TokenIssuer } from '../../core/apiserver/http/token-requests.ts';
import type { Space, UserInfo } from '../../core/apiserver/space.ts';
import type { NoteAct } from '../../core/audit/node-acts.ts';
import type { UserSigner } from '../../core/identity/user-signer.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Store } from '../../core/store/store.ts';
import type { Renewal } from '../../core/wire/join/renewal.ts';
import type { MeshNetwork } from '../../core/wire/network.ts';
import type { TreeTrust } from '../../core/wire/tree-trust.ts';
import type { CertificateSigner } from '../join/signer.ts';
import type { CrashJournal } from '../work/work-guard.ts';

/** The access of clients to the spaces of a node. In the product this is the API server. The simulation serves nothing. */
export interface NodeApi extends AsyncDisposable {
  mount(prefix: string, space: Space): void;
  /** Finds the space of a prefix that is not mounted. The API calls `resolver` once for each prefix. */
  resolveWith(resolver: (prefix: string) => Space | undefined): void;
  /** Serves a connection whose user is known. */
  take(connection: Duplex, user: UserInfo): void;
  /** Ends the connections of users who are revoked now. */
  revocationsChanged(): void;
  /** Begins to serve, and returns the URL. */
  listen(): Promise<string>;
}

export interface NodeAnswers {
  readonly authorizer: Authorizer;
  readonly isRevoked: IsRevoked;
  readonly tokens: TokenIssuer;
  /** The path of the node. */
  readonly path: string;
  notReady(): string | undefined;
  /** Bounds the requests to a space. Throws TooManyRequests. Returns what has to be called when the answer has ended. */
  admitRequest(place: AccessPlace, isWatch: boolean): (() => void) | undefined;
  /** Serves requests to `/tree/PATH/...`, which go to other nodes. */
  readonly tree: TreeUrls;
  /** Serves requests to `/fleet/SPACE/...`, and questions about plans and former revisions. */
  readonly urls: NodeUrls;
}

export type NodeTrust = Pick<
  TreeTrust,
  'receive' | 'onChange' | 'handedDown' | 'whyUntrusted' | 'wouldEndOwn' | 'report' | 'trusted'
>;

export interface NodePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly network: MeshNetwork;
  readonly software: string;
  /** The message of the uncaught error that ended the last process. */
  readonly crashMessage?: string | undefined;
  readonly crashJournal?: CrashJournal;
  /** Absent: this node issues no certificates. */
  readonly signer?: CertificateSigner | undefined;
  /** The authorities of nodes that this node trusts. Absent: they never change. */
  readonly trust?: NodeTrust | undefined;
  /** PEM: the authorities by which clients verify the API of the node. */
  authority(): string;
  /** PEM: the keys with which the replicas of this relay sign tokens. Absent: the node has a key of its own. */
  readonly tokenKeys?: string | undefined;
  /** Signs approved CertificateSigningRequests. Absent: the node signs none. */
  readonly userSigner?: UserSigner | undefined;
  /** The renewal of the node's certificate. Absent: somebody else renews it. */
  readonly renewal?: Pick<Renewal, 'trouble' | 'onTrouble' | 'onRenewed' | 'requireBelow'> | undefined;
  /** Tokens of issuers outside the tree. Absent: the node trusts no such issuer. */
  readonly people?: Pick<TokenUsers, 'userOf'>;
  /** Writes what the node decides into its audit log. Absent: there is none. */
  readonly noteAct?: NoteAct | undefined;
  defer(run: () => void): void;
  /** Called once. `notReady` returns why the node is not ready. */
  api(answers: NodeAnswers): NodeApi;
  /** Called when the store is broken, or is full when the node starts. The node can't go on. */
  fatal(error: unknown): void;
}
