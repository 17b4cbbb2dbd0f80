/** The output of `banyan why`. */
import { shownPath } from '../../core/identity/node-path.ts';
import type { Output } from './output.ts';
import { formatTable } from './table.ts';
import type { WhyQuestion } from './why.ts';

/** `lines`: each begins with the context or the placement that shows it, such as `mailbox/eu:paris:store-17: it is in the mailbox`. */
export function whyOutput(lines: readonly string[], { object, namespace, space, at }: WhyQuestion): Output {
  const steps = lines.map((line) => {
    const end = line.indexOf(': ');
    return { where: line.slice(0, end), what: line.slice(end + 2) };
  });
  const name = `${object.kind}/${object.name}`;
  return {
    data: { object: name, namespace, space, at: shownPath(at), steps },
    names: [name],
    text: lines.join('\n'),
    wide: formatTable(
      ['WHERE', 'WHAT'],
      steps.map(({ where, what }) => [where, what]),
    ),
  };
}
