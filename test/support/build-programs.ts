/**
 * Builds what tests use from Go modules of the project, one after the other, and says what can't be built here: a build beside tests would take the processors
 * that they have their deadlines for.
 */
import { controlPlaneBinaries, withoutControlPlane } from './control-plane/binaries.ts';
import { helmProgram, withoutHelm } from './helm.ts';
import { nodePrograms, withoutNode } from './kubelet/programs.ts';

const wanted = [
  { name: 'control plane', lacks: withoutControlPlane(), build: controlPlaneBinaries },
  { name: 'helm', lacks: withoutHelm, build: helmProgram },
  { name: 'node', lacks: withoutNode(), build: nodePrograms },
];
for (const { name, lacks, build } of wanted) {
  if (lacks === undefined) await build();
  console.log(`${name}: ${lacks ?? 'there'}`);
}
