/** Assembles the embedded cluster on a store: its space, the lifecycle controllers that every space has, and the controllers of a cluster. */
import { AccountTokens } from '../../../core/apiserver/access/account-tokens.ts';
import { SystemAccess } from '../../../core/apiserver/access/system-access.ts';
import { TokenSecrets } from '../../../core/apiserver/access/token-secrets.ts';
import { builtinKinds } from '../../../core/apiserver/builtin/builtin-kinds.ts';
import { CrdController } from '../../../core/apiserver/crd/crd-controller.ts';
import { ClusterServices } from '../../../core/apiserver/kinds/cluster-services.ts';
import { fillingOf } from '../../../core/apiserver/kinds/fillings.ts';
import { objectChecks } from '../../../core/apiserver/kinds/object-checks.ts';
import { SpaceKinds } from '../../../core/apiserver/kinds/space-kinds.ts';
import { EventExpiry } from '../../../core/apiserver/lifecycle/event-expiry.ts';
import { GarbageCollector } from '../../../core/apiserver/lifecycle/garbage-collector.ts';
import { NamespaceController } from '../../../core/apiserver/lifecycle/namespace-controller.ts';
import { PublishedObjects } from '../../../core/apiserver/lifecycle/published-objects.ts';
import { fieldManager } from '../../../core/apiserver/managed-fields/field-manager.ts';
import type { Space } from '../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../core/apiserver/verbs/embedded-space.ts';
import { issuerOf } from '../../../core/authentication/account-token.ts';
import { tokenKeysIn } from '../../../core/authentication/token-key.ts';
import type { ClusterPorts, OpenCluster } from '../cluster.ts';
import type { FromAbove } from '../from-above.ts';
import type { ClusterPace } from './controllers/pace.ts';
import { EmbeddedCluster } from './embedded-cluster.ts';

export interface AssembleOptions extends ClusterPorts {
  readonly pace: ClusterPace;
  /** The path of the agent. */
  readonly path: string;
  /** `access.fromAbove` of the configuration. */
  readonly fromAbove: FromAbove;
  /** PEM: the authorities by which clients verify the API of the cluster. Absent: nobody serves the API, and Secrets get no tokens. */
  authority?(): string;
}

export interface AssembledCluster extends OpenCluster {
  readonly space: Space;
  readonly cluster: EmbeddedCluster;
  readonly tokens: AccountTokens;
}

/** The name of the space in the agent's store. */
const spaceName = 'cluster';

export function assembleCluster(options: AssembleOptions): AssembledCluster {
  const { store, clock, random, logger, schedule, path, fromAbove } = options;
  const storage = new EmbeddedStorage({ store, name: spaceName, logger });
  const kinds = new SpaceKinds(storage, builtinKinds());
  const services = new ClusterServices(storage);
  const space: EmbeddedSpace = new EmbeddedSpace({
    name: spaceName,
    storage,
    kinds,
    clock,
    random,
    fields: fieldManager,
    ...fillingOf('Cluster'),
    checks: objectChecks({ name: spaceName, type: 'Cluster', path, services: () => services.room() }, kinds, storage),
    admissions: [(request) => access?.admission(request)],
  });
  const access: SystemAccess | undefined = new SystemAccess({
    space,
    clock,
    random,
    log: logger,
    path,
    fromAbove,
    // A cluster has no AccessGrants, which name spaces.
    isServedAbove: () => false,
    defer: schedule,
  });
  const tokens = new AccountTokens({ space, clock, random, issuer: issuerOf(path), keys: () => tokenKeysIn(store) });
  const { authority } = options;
  const tokenSecrets = authority && new TokenSecrets({ space, tokens, clock, log: logger, authority });
  tokenSecrets?.start();
  const shared = { space, clock, logger, schedule };
  const lifecycle = [
    new CrdController(shared),
    new NamespaceController(shared),
    new GarbageCollector(shared),
    new EventExpiry(shared),
    new PublishedObjects({ ...shared, ...(authority ? { authority } : {}) }),
  ];
  const cluster = new EmbeddedCluster({ ...shared, random, pace: options.pace });
  return {
    space,
    authorizer: access.authorizer,
    tokens,
    cluster,
    async [Symbol.asyncDispose]() {
      tokenSecrets?.stop();
      await cluster[Symbol.asyncDispose]();
      for (const controller of lifecycle) controller.close();
      access.close();
      services.close();
      kinds[Symbol.dispose]();
    },
  };
}
