// The few browser types that the page uses. The DOM library would add its globals to all files.

/** An element of the page. */
export interface Node {
  textContent: string;
  className: string;
  hidden: boolean;
  value: string;
  disabled: boolean;
  readonly clientWidth: number;
  append(...children: (Node | string)[]): void;
  replaceChildren(...children: (Node | string)[]): void;
  remove(): void;
  focus(): void;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  addEventListener(event: string, listener: (event: { preventDefault(): void }) => void): void;
}
declare const document: {
  createElement(tag: string): Node;
  getElementById(id: string): Node | null;
};

type Attributes = Readonly<Record<string, string>>;

/** Creates an element. Text is never read as markup. */
export function el(tag: string, attributes: Attributes = {}, ...children: (Node | string)[]): Node {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** An element that the page has from the start. */
export function known(id: string): Node {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/** Writes a text only if it differs, so that a selection of it stays. */
export function write(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** A table whose rows stay the same elements from one update to the next, so that focus stays. */
export class Table {
  readonly node: Node;
  readonly #columns: readonly (readonly [name: string, look: string])[];
  readonly #body = el('tbody');
  readonly #rows = new Map<string, { readonly row: Node; readonly cells: readonly Node[] }>();
  #order = '';

  /** @param columns their heads and classes; the first cell of a row is its head */
  constructor(label: string, columns: readonly (readonly [name: string, look: string])[]) {
    this.#columns = columns;
    const heads = columns.map(([name, look]) => el('th', { scope: 'col', class: look }, name));
    const head = el('thead', {}, el('tr', {}, ...heads));
    const table = el('table', { 'aria-label': label }, head, this.#body);
    this.node = el('div', { class: 'wide' }, table);
  }

  /** Shows these rows. `head` makes the content of a new row's first cell. */
  update(
    rows: readonly { readonly key: string; readonly cells: readonly string[] }[],
    head: (key: string) => Node | undefined = () => undefined,
  ): void {
    const left = new Set(this.#rows.keys());
    for (const { key, cells } of rows) {
      left.delete(key);
      const { cells: places } = this.#rows.get(key) ?? this.#make(key, head(key));
      for (const [i, place] of places.entries()) write(place, cells[i] ?? '');
    }
    for (const key of left) this.#rows.delete(key);
    const order = JSON.stringify(rows.map(({ key }) => key));
    if (order === this.#order) return;
    this.#order = order;
    this.#body.replaceChildren(...rows.flatMap(({ key }) => this.#rows.get(key)?.row ?? []));
  }

  /** The row with this key. */
  row(key: string): Node | undefined {
    return this.#rows.get(key)?.row;
  }

  #make(key: string, head: Node | undefined) {
    const first = el('th', { scope: 'row' }, ...(head === undefined ? [] : [head]));
    const others = this.#columns.slice(1).map(([name, look]) => {
      return el('td', { 'data-name': name, class: look });
    });
    const made = { row: el('tr', {}, first, ...others), cells: [head ?? first, ...others] };
    this.#rows.set(key, made);
    return made;
  }
}
