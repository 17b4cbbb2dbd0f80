/** The program of the center: a node without a parent. */
import { runNode } from '../relay/run-node.ts';

await runNode('center', {});
