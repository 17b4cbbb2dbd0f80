/**
 * `npm run programs`: builds the external programs that tests run. They come from the Go modules beside this file, one after the other, and versions of Node from npm. The command lists the
 * programs that this machine can't have. The built programs are kept outside the checkout, so a second run takes a second.
 */
import { buildClientPrograms } from './client-programs.ts';
import { buildConformance } from './conformance.ts';
import { controlPlaneBinaries } from './control-plane/binaries.ts';
import { helmProgram } from './helm.ts';
import { buildKubectl, buildOlderKubectls } from './kubectl.ts';
import { nodePrograms, withoutHost } from './kubelet/programs.ts';
import { otherKinds } from './other-kinds.ts';
import { installNodes } from './other-nodes.ts';
import { toolHealthProgram } from './tool-health.ts';
import { buildToxiproxy } from './toxiproxy.ts';

const wanted: readonly { name: string; impossible?: string | undefined; build: () => Promise<unknown> }[] = [
  { name: 'kubectl', build: buildKubectl },
  { name: 'older versions of kubectl', build: buildOlderKubectls },
  { name: 'other versions of Node', build: installNodes },
  { name: 'toxiproxy', build: buildToxiproxy },
  { name: 'control plane', build: controlPlaneBinaries },
  { name: 'helm', build: () => helmProgram(3) },
  { name: 'helm 4', build: () => helmProgram(4) },
  { name: 'kinds of other projects', build: otherKinds },
  { name: 'tool health', build: toolHealthProgram },
  { name: 'programs of clients', build: buildClientPrograms },
  { name: 'conformance', build: buildConformance },
  { name: 'kubelet', impossible: withoutHost(), build: nodePrograms },
];

let failed = false;
for (const { name, impossible, build } of wanted) {
  const problem = impossible ?? (await build().then(() => undefined, String));
  failed ||= problem !== undefined && problem !== impossible;
  console.log(`${name}: ${problem ?? 'there'}`);
}
process.exitCode = failed ? 1 : 0;
