/**
 * What a node has yet to hear before it tells a child anything that may take away what it has. A function of what its rooms know: each says in words
 * what is not here.
 */
export interface MissingFromChildPorts {
  /** Of this node. */
  readonly hasReplicas: boolean;
  /** All that the parent had was heard in this run of the process; so it is where there is no parent. */
  hasReceivedFromParent(): boolean;
  parentHasReplicas(): boolean;
  /** What the child was handed of releases that this node does not know yet. */
  releases(child: string): string | undefined;
  /** What the child has seen of the spaces above that has not come here. */
  childAhead(child: string): string | undefined;
  /** Whether all that the labels at the child match has come here. */
  isMatched(child: string): boolean;
}

/** In words; undefined: nothing. */
export function missingFromChild(ports: MissingFromChildPorts, child: string): string | undefined {
  if (ports.hasReplicas) return ports.releases(child) ?? unmatched(ports, child);
  if (!ports.hasReceivedFromParent()) return "this node has not yet received its parent's feed";
  // What came from one sibling above may not have come to the one that this node turned to when it had lost its store; or that one knows older labels of the
  // places here, and has not sent what only the newer ones match.
  if (!ports.parentHasReplicas()) return undefined;
  return ports.childAhead(child) ?? unmatched(ports, child);
}

function unmatched(ports: MissingFromChildPorts, child: string): string | undefined {
  if (ports.isMatched(child)) return undefined;
  return 'the parent has received the labels and has not yet sent all objects that match';
}
