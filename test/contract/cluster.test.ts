import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Cluster } from '../../edge-agent/cluster/cluster.ts';
import { type AssembledCluster, assembleCluster } from '../../edge-agent/cluster/embedded/assemble.ts';
import { accessOf } from '../../edge-agent/cluster/kubernetes/access.ts';
import { KubernetesCluster } from '../../edge-agent/cluster/kubernetes/kubernetes-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { clusterContract } from './support/cluster-contract.ts';

const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };

describe('the embedded cluster', () => {
  let assembled: AssembledCluster;
  beforeAll(() => {
    assembled = assembleCluster({
      ...ports,
      store: new MemoryStore(),
      pace: { stepMinMs: 1, stepMaxMs: 2, progressDeadlineMaxMs: 10_000 },
      schedule: setImmediate,
    });
  });
  afterAll(() => assembled[Symbol.asyncDispose]());
  clusterContract(() => assembled.cluster);
});

const missing = withoutControlPlane();

describe.skipIf(missing)(`a real control plane${missing ? ` (${missing})` : ''}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-contract-'));
  let plane: ControlPlane;
  let cluster: Cluster;
  beforeAll(async () => {
    plane = await ControlPlane.start({ directory });
    cluster = new KubernetesCluster({
      ...ports,
      store: new MemoryStore(),
      access: await accessOf({ kubeconfig: plane.kubeconfig }, { host: undefined, port: undefined, directory }),
    });
    furnish(plane, { nodes: 1, volumes: 0 });
  }, 3_600_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  clusterContract(() => cluster);
});
