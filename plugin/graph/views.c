/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The handles whose memory main() owns, by address. */
#include "graph/views.h"

/* Order in the tree; several may begin at one address. */
static bool is_before(const struct tic_handle *a, const struct tic_handle *b)
{
    return a->layout.base != b->layout.base ? a->layout.base < b->layout.base : a->id < b->id;
}

/* Who is higher in the tree: as good as random, and the same in every run. */
static uint64_t height(const struct tic_handle *handle)
{
    uint64_t mixed = (handle->id + 1) * UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ mixed >> 32;
}

static void refresh(struct tic_handle *handle)
{
    struct tic_view *view = &handle->listing.view;

    view->end = handle->layout.base + tic_layout_span(&handle->layout);
    if (view->left && view->left->listing.view.end > view->end)
        view->end = view->left->listing.view.end;
    if (view->right && view->right->listing.view.end > view->end)
        view->end = view->right->listing.view.end;
}

/* All of the left come before all of the right. */
static struct tic_handle *merge(struct tic_handle *left, struct tic_handle *right)
{
    if (!left || !right)
        return left ? left : right;
    struct tic_handle *top = height(left) > height(right) ? left : right;
    if (top == left)
        left->listing.view.right = merge(left->listing.view.right, right);
    else
        right->listing.view.left = merge(left, right->listing.view.left);
    refresh(top);
    return top;
}

/* Those before the handle, and the others. */
static void split(struct tic_handle *tree, const struct tic_handle *handle,
                  struct tic_handle **before, struct tic_handle **after)
{
    if (!tree) {
        *before = *after = NULL;
        return;
    }
    if (is_before(tree, handle)) {
        split(tree->listing.view.right, handle, &tree->listing.view.right, after);
        *before = tree;
    } else {
        split(tree->listing.view.left, handle, before, &tree->listing.view.left);
        *after = tree;
    }
    refresh(tree);
}

static struct tic_handle *insert(struct tic_handle *tree, struct tic_handle *handle)
{
    if (!tree || height(handle) > height(tree)) {
        split(tree, handle, &handle->listing.view.left, &handle->listing.view.right);
        refresh(handle);
        return handle;
    }
    if (is_before(handle, tree))
        tree->listing.view.left = insert(tree->listing.view.left, handle);
    else
        tree->listing.view.right = insert(tree->listing.view.right, handle);
    refresh(tree);
    return tree;
}

void tic_views_add(struct tic_views *views, struct tic_handle *handle)
{
    views->root = insert(views->root, handle);
}

static struct tic_handle *take_out(struct tic_handle *tree, const struct tic_handle *handle)
{
    if (tree == handle)
        return merge(tree->listing.view.left, tree->listing.view.right);
    if (is_before(handle, tree))
        tree->listing.view.left = take_out(tree->listing.view.left, handle);
    else
        tree->listing.view.right = take_out(tree->listing.view.right, handle);
    refresh(tree);
    return tree;
}

void tic_views_remove(struct tic_views *views, struct tic_handle *handle)
{
    if (!handle->listing.view.end)
        return;
    views->root = take_out(views->root, handle);
    handle->listing.view = (struct tic_view){.end = NULL};
}

static int visit_tree(struct tic_handle *tree, const char *begin, const char *end,
                      int (*visit)(struct tic_handle *found, void *arg), void *arg)
{
    int status = 0;

    if (!tree || tree->listing.view.end <= begin)
        return 0;
    status = visit_tree(tree->listing.view.left, begin, end, visit, arg);
    if (status || tree->layout.base >= end)
        return status;
    if (tree->layout.base + tic_layout_span(&tree->layout) > begin)
        status = visit(tree, arg);
    return status ? status : visit_tree(tree->listing.view.right, begin, end, visit, arg);
}

int tic_views_visit(const struct tic_views *views, const char *begin, const char *end,
                    int (*visit)(struct tic_handle *found, void *arg), void *arg)
{
    return visit_tree(views->root, begin, end, visit, arg);
}
