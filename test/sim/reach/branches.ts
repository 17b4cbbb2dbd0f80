/** The branches of a source text: the places where a run can go one way or another. Each branch also has the data that shows which way the runs went. */
import { parseSync } from 'oxc-parser';

export interface Branch {
  /** The position in the text at which the branch begins. */
  readonly at: number;
  readonly what: string;
  /**
   * Without `skipped`, the branch is reached when its block is entered. With `skipped`, it is reached when the place `skipped` is entered more often than
   * `at`.
   */
  readonly skipped?: number;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/**
 * Finds these branches: a function; both ways of an `if`, even without an `else`; both ways of a conditional; the right side of `&&`, `||` and `??`; each
 * case with code; the body of a loop; a catch.
 */
export function branchesOf(file: string, text: string): Branch[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const found: Branch[] = [];
  visit(program, (node) => found.push(...branchesAt(node)));
  return found.sort((a, b) => a.at - b.at);
}

function branchesAt(node: SyntaxNode): Branch[] {
  const of = (field: string) => node[field] as SyntaxNode | null | undefined;
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression': {
      const body = of('body');
      return body ? [{ at: inside(body), what: 'function' }] : [];
    }
    case 'IfStatement': {
      const [then, otherwise] = [of('consequent')!, of('alternate')];
      const second: Branch = otherwise
        ? { at: inside(otherwise), what: 'else' }
        : { at: inside(then), what: 'not', skipped: of('test')!.start };
      return [{ at: inside(then), what: 'if' }, second];
    }
    case 'ConditionalExpression':
      return [
        { at: of('consequent')!.start, what: '?' },
        { at: of('alternate')!.start, what: ':' },
      ];
    case 'LogicalExpression':
      return [{ at: of('right')!.start, what: node.operator as string }];
    case 'SwitchCase': {
      const [first] = node.consequent as SyntaxNode[];
      return first ? [{ at: inside(first), what: 'case' }] : [];
    }
    case 'ForStatement':
    case 'ForOfStatement':
    case 'ForInStatement':
    case 'WhileStatement':
      return [{ at: inside(of('body')!), what: 'loop' }];
    case 'CatchClause':
      return [{ at: inside(of('body')!), what: 'catch' }];
    default:
      return [];
  }
}

/** The place inside a block. V8 still counts the first place of a block with the surrounding block. */
function inside({ type, start }: SyntaxNode): number {
  return type === 'BlockStatement' ? start + 1 : start;
}

function visit(value: unknown, look: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) {
    for (const one of value) visit(one, look);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const node = value as SyntaxNode;
  // Types do not exist at run time.
  if (typeof node.type !== 'string' || (node.type.startsWith('TS') && !carriesCode.has(node.type))) return;
  look(node);
  for (const field of Object.values(node)) visit(field, look);
}

const carriesCode: ReadonlySet<string> = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);
