/** The program of a relay: `--config FILE`. */
import { runNode } from './run-node.ts';

await runNode('relay');
