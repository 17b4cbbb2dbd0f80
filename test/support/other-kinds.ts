/** Definitions of kinds of other projects, as these projects publish them: routes of the Gateway API, and the ServiceMonitor of the Prometheus operator. */
import { basename, join } from 'node:path';
import { builtOnce, type GoModule, notBuilt } from './go-programs.ts';

const name = 'other-kinds';
const gateway = 'sigs.k8s.io/gateway-api';
const operator = 'github.com/prometheus-operator/prometheus-operator';
const files = [
  [gateway, 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  // Only this channel serves all versions of TLSRoute that are in use.
  [gateway, 'config/crd/experimental/gateway.networking.k8s.io_tlsroutes.yaml'],
  [operator, 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'],
] as const;
const modules: readonly GoModule[] = [
  { directory: join(import.meta.dirname, name), packages: {}, files, sources: ['../other-kinds.ts'] },
];

/** A text for the titles of tests that can't run. */
export const withoutOtherKinds = notBuilt(name, modules);

/** Returns the files with the definitions. Fetches them if they are missing. */
export async function otherKinds(): Promise<string[]> {
  const folder = await builtOnce(name, modules);
  return files.map(([, path]) => join(folder, basename(path)));
}
