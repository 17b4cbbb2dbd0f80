/** The program of the center: a node without a parent. */
import { runNode } from '../relay/process/run-node.ts';

await runNode('center', {});
