import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { controlPlaneBinaries, withoutControlPlane } from '../../../support/control-plane/binaries.ts';

let assets: string;
beforeEach(() => {
  assets = mkdtempSync(join(tmpdir(), 'banyan-assets-'));
  vi.stubEnv('KUBEBUILDER_ASSETS', assets);
  // No program was built before.
  vi.stubEnv('XDG_CACHE_HOME', assets);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(assets, { recursive: true });
});

const ofEnvtest = ['etcd', 'kube-apiserver', 'kubectl'];
const install = (...programs: string[]) => {
  for (const program of programs) writeFileSync(join(assets, program), '');
};

test('only programs that envtest does not have are built', () => {
  install(...ofEnvtest);
  const lacking = 'control-plane-kube-controller-manager-kube-scheduler-kwok';
  expect(withoutControlPlane()).toBe(`${lacking} is not built: "npm run programs" builds it with Go`);
});

test('if all programs are given, nothing is built', async () => {
  const others = ['kube-controller-manager', 'kube-scheduler', 'kwok'];
  install(...ofEnvtest, ...others);
  expect(withoutControlPlane()).toBeUndefined();
  const found = Object.entries(await controlPlaneBinaries());
  expect(found.every(([program, path]) => path === join(assets, program))).toBe(true);
});

test('if none is given, all are built', () => {
  expect(withoutControlPlane()).toBe('control-plane is not built: "npm run programs" builds it with Go');
});
