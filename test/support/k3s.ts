/** K3s in a container, for machines with a container engine and the image: `BANYAN_K3S_IMAGE=rancher/k3s:v1.34.1-k3s1 npm test`. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { impossible } from './impossible.ts';

const image = process.env.BANYAN_K3S_IMAGE;

/** A text for the titles of tests that can't run, with the reason. */
export const withoutK3s = image ? withoutImage(image) : `${impossible}: BANYAN_K3S_IMAGE names no image of K3s`;

export interface RunningK3s extends AsyncDisposable {
  /** The kubeconfig of the admin, with an address of this machine. */
  readonly kubeconfig: string;
}

/** Starts K3s. The library is loaded only here, because it is large. */
export async function startK3s(kubeconfig: string): Promise<RunningK3s> {
  if (!image) throw new Error(withoutK3s);
  const { K3sContainer } = await import('@testcontainers/k3s');
  // The tests need no ingress, load balancers and metrics. Each of them would be an image to pull.
  const disabled = ['traefik', 'servicelb', 'metrics-server'].map((part) => `--disable=${part}`);
  const container = await new K3sContainer(image).withCommand(['server', ...disabled]).start();
  writeFileSync(kubeconfig, container.getKubeConfig(), { mode: 0o600 });
  return { kubeconfig, [Symbol.asyncDispose]: async () => void (await container.stop()) };
}

/** Why the image can't be used. Tests do not pull the image: that would take the time of a test, and most test machines are not allowed to pull. */
function withoutImage(name: string): string | undefined {
  const { error, status } = spawnSync('docker', ['image', 'inspect', name], { stdio: 'ignore' });
  if (error) return `BANYAN_K3S_IMAGE is set, and there is no docker: ${error.message}`;
  return status === 0 ? undefined : `BANYAN_K3S_IMAGE is set, and docker has no image ${name}: docker pull ${name}`;
}
