/** The same kubectl commands at a workload space and at a real control plane, by the oldest supported kubectl and by 1.34: the same output and exit codes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { LocalTree } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { kubectl27Program, withoutKubectl, withoutKubectl27 } from '../support/kubectl.ts';
import { differences, runSession, sessionCommands } from '../support/kubectl-session.ts';

const missing = withoutKubectl ?? withoutKubectl27 ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
/** A session takes half a minute at each server, and several times as long on a busy machine. */
const sessionsMsMax = 10 * 60_000;

describe.skipIf(missing)(`sessions of kubectl${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-sessions-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const planes: ControlPlane[] = [];

  beforeAll(async () => {
    const spec = { center: { spaces: ['new', 'old'].map((name) => ({ name, type: 'Workload' })) } };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'sessions' }, spec };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
  }, 180_000);

  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    for (const plane of planes) await plane[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  // Each session has a space and a control plane of its own: a Namespace of the other session could still be going away.
  it.each(['new', 'old'])(
    'the %s kubectl',
    async (age) => {
      const plane = await ControlPlane.start({ directory: join(directory, age) });
      planes.push(plane);
      const own = join(directory, `${age}.kubeconfig`);
      writeFileSync(own, tree.ok(`space/center/${age}`, 'config', 'view', '--raw', '--minify', '--flatten'));
      const kubectl = age === 'old' ? kubectl27Program : plane.kubectl;
      const [ours, theirs] = [runSession(kubectl, own), runSession(kubectl, plane.kubeconfig)];
      expect(differences(ours, theirs)).toEqual([]);
      expect(ours.length).toBe(sessionCommands.length);
    },
    sessionsMsMax,
  );
});
