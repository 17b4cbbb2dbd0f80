/** The program of a relay: `--config FILE`. */
import { proxiesOf } from '../core/wire/dialer/proxy-choice.ts';
import { runNode } from './process/run-node.ts';

await runNode('relay', proxiesOf(process.env));
